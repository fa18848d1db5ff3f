// The nest of blocks around the micro-kernels.
#include "cpu/product/gemm/Gemm.h"

#include <algorithm>
#include <cassert>
#include <optional>

#include <fmt/format.h>

#include "base/Arithmetic.h"
#include "cpu/plan/product/Layout.h"
#include "cpu/product/gemm/Arguments.h"
#include "cpu/product/gemm/Ir.h"
#include "cpu/product/gemm/MicroKernel.h"
#include "cpu/product/gemm/Pack.h"
#include "cpu/product/gemm/Tiles.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {
namespace {

using llvm::Value;

/// Emits the arithmetic of packsRowsOfB().
struct EmittedOps {
  llvm::IRBuilderBase& b;
  Value* constant(bool value) const { return b.getInt1(value); }
  Value* isAtLeast(Value* bytes, int64_t limit) const { return b.CreateICmpSGE(bytes, b.getInt64(limit)); }
  Value* isAbove(Value* bytes, int64_t limit) const { return b.CreateICmpSGT(bytes, b.getInt64(limit)); }
  Value* isMultipleOf(Value* bytes, int64_t of) const {
    return b.CreateICmpEQ(b.CreateAnd(bytes, of - 1), b.getInt64(0));
  }
  Value* logicalAnd(Value* a, Value* other) const { return b.CreateAnd(a, other); }
  Value* logicalNot(Value* a) const { return b.CreateNot(a); }
};
Value* packsRows(llvm::IRBuilderBase& b, const Layout& l, Value* rowBytes) {
  return packsRowsOfB(EmittedOps{b}, l, rowBytes);
}

class ProductNest {
 public:
  ProductNest(llvm::Module& module, const Layout& layout, Ir& ir)
      : module_(module),
        l_(layout),
        s_(layout.shape),
        ir_(ir),
        b_(ir.b),
        in_(GemmArguments::of(*ir.function, layout.shape)) {
    strideA_ = bytes(in_.lda, s_.a);
    strideB_ = bytes(in_.ldb, s_.b);
    strideC_ = bytes(in_.ldc, s_.c);
  }

  void emit() {
    assert(!s_.addsRow || (s_.k > 0 && !s_.accumulate));
    if (s_.m > 0 && s_.n > 0) s_.k > 0 ? nest() : zero();
    b_.CreateRetVoid();
  }

 private:
  Value* bytes(Value* elements, DType type) { return b_.CreateMul(elements, ir_.i64(storage_bytes(type))); }
  Value* times(Value* x, Value* y) { return b_.CreateMul(x, y); }
  Value* times(Value* x, int64_t y) { return b_.CreateMul(x, ir_.i64(y)); }
  Value* workspace(int64_t offset) { return ir_.at(in_.workspace, offset); }

  /// An empty sum: C becomes zero, or stays.
  void zero() {
    if (s_.accumulate) return;
    const int tail = static_cast<int>(s_.n % l_.lanes);
    Value* none = llvm::Constant::getNullValue(ir_.vectorOf(b_.getInt32Ty(), l_.lanes));
    ir_.loop(ir_.i64(0), ir_.i64(s_.m), 1, [&](Value* row) {
      Value* c = ir_.at(in_.c, times(row, strideC_));
      ir_.loop(ir_.i64(0), ir_.i64(4 * (s_.n - tail)), l_.vectorBytes(),
               [&](Value* offset) { ir_.store(none, l_.lanes, ir_.at(c, offset)); });
      if (tail) ir_.store(none, tail, ir_.at(c, 4 * (s_.n - tail)));
    });
  }

  void nest() {
    ir_.blocks(s_.n, l_.blockColumns, [&](Value* column, Value* columns) {
      ir_.blocks(s_.k, l_.blockDepth, [&](Value* k, Value* depth) {
        ir_.blocks(s_.m, l_.blockRows, [&](Value* row, Value* rows) { block({column, columns, k, depth, row, rows}); });
      });
    });
  }

  struct Block {
    Value *column, *columns, *k, *depth, *row, *rows;
  };

  PackSpec packSpec(DType from, PackedElement to) const {
    return {.from = from, .to = to, .group = l_.group, .lanes = l_.lanes, .nativeHalf = l_.nativeHalf};
  }
  PackSpec byWords(PackSpec spec) const {
    spec.tail = static_cast<int>(s_.k % l_.group);
    return spec;
  }
  PackSpec byVectors(PackSpec spec) const {
    spec.tail = static_cast<int>(s_.k % (l_.group * l_.lanes));
    return spec;
  }

  /// One block of A against one block of B.
  void block(const Block& at) {
    words_ = b_.CreateUDiv(b_.CreateAdd(at.depth, ir_.i64(l_.group - 1)), ir_.i64(l_.group));
    blockA(at);
    Value* full = b_.CreateUDiv(at.columns, ir_.i64(l_.columns()));
    const int64_t ragged = s_.n % l_.columns();
    // In a loop over blocks of columns only the last has the ragged panel.
    if (s_.n >= l_.columns()) ir_.loop(ir_.i64(0), full, 1, [&](Value* panel) { emitPanel(at, panel, l_.columns()); });
    if (ragged)
      ir_.when(b_.CreateICmpEQ(b_.CreateAdd(at.column, at.columns), ir_.i64(s_.n)),
               [&] { emitPanel(at, full, static_cast<int>(ragged)); });
  }

  /// Sets where the kernels read A, and copies it there when it is not in place.
  void blockA(const Block& at) {
    const int size = storage_bytes(s_.a);
    Value *outer = s_.transposedA ? at.k : at.row, *inner = s_.transposedA ? at.row : at.k;
    a_ = ir_.at(ir_.at(in_.a, times(outer, strideA_)), times(inner, size));
    kernelStrideA_ = strideA_;
    if (l_.packA) {
      Value* packed = workspace(l_.offsetA);
      kernelStrideA_ = ir_.i64(l_.strideA);
      if (l_.panelsA)
        packTilesOfA(at, packed);
      else if (s_.transposedA)
        packColumnsOfA(at, packed);
      else
        b_.CreateCall(packInOrder(module_, byVectors(packSpec(s_.a, l_.elementA))),
                      {a_, strideA_, packed, kernelStrideA_, at.rows, at.depth});
      a_ = packed;
    }
    if (l_.biasFactor)
      b_.CreateCall(sumRows(module_, packSpec(s_.a, l_.elementA), s_.transposedA, l_.biasFactor),
                    {a_, kernelStrideA_, at.rows, words_, workspace(l_.offsetSums)});
  }

  void packTilesOfA(const Block& at, Value* packed) {
    const PackSpec spec = byVectors(packSpec(s_.a, l_.elementA));
    Value *whole = b_.CreateUDiv(at.rows, ir_.i64(l_.rows)), *tileBytes = times(words_, l_.strideA);
    const auto copy = [&](Value* tile, int rows) {
      b_.CreateCall(packTransposed(module_, spec, rows),
                    {ir_.at(a_, times(times(tile, l_.rows), strideA_)), strideA_,
                     ir_.at(packed, times(tile, tileBytes)), kernelStrideA_, at.depth});
    };
    ir_.loop(ir_.i64(0), whole, 1, [&](Value* tile) { copy(tile, l_.rows); });
    if (const auto rest = static_cast<int>(s_.m % l_.rows))
      ir_.when(b_.CreateICmpEQ(b_.CreateAdd(at.row, at.rows), ir_.i64(s_.m)), [&] { copy(whole, rest); });
  }

  void packColumnsOfA(const Block& at, Value* packed) {
    const PackSpec spec = byWords(packSpec(s_.a, l_.elementA));
    const int chunk = l_.columns(), ragged = static_cast<int>(s_.m % chunk);
    Value* whole = b_.CreateUDiv(at.rows, ir_.i64(chunk));
    const auto copy = [&](Value* index, int rows) {
      const int vectors = ceilDiv(rows, l_.lanes);
      b_.CreateCall(packRows(module_, spec, vectors, rows - (vectors - 1) * l_.lanes),
                    {ir_.at(a_, times(index, chunk * storage_bytes(s_.a))), strideA_,
                     ir_.at(packed, times(index, 4 * chunk)), kernelStrideA_, at.depth});
    };
    if (s_.m >= chunk) ir_.loop(ir_.i64(0), whole, 1, [&](Value* index) { copy(index, chunk); });
    if (ragged) ir_.when(b_.CreateICmpEQ(b_.CreateAdd(at.row, at.rows), ir_.i64(s_.m)), [&] { copy(whole, ragged); });
  }

  /// Columns [panel · tile, … + columns) of the block.
  void emitPanel(const Block& at, Value* panel, int columns) {
    const int vectors = ceilDiv(columns, l_.lanes), lastLanes = columns - (vectors - 1) * l_.lanes;
    const int sizeB = storage_bytes(s_.b);
    Value* column = b_.CreateAdd(at.column, times(panel, l_.columns()));
    Value *outer = s_.transposedB ? column : at.k, *inner = s_.transposedB ? at.k : column;
    Value* source = ir_.at(ir_.at(in_.b, times(outer, strideB_)), times(inner, sizeB));
    PanelB panelB{.b = source,
                  .stride = strideB_,
                  .next = ir_.at(source, l_.columns() * sizeB),
                  .strideNext = strideB_,
                  .after = source,
                  .tilesAfter = ir_.i64(0)};
    if (l_.packB) {
      Value* packed = s_.cachesPackedB
                          ? ir_.at(in_.packedB, times(b_.CreateUDiv(at.k, ir_.i64(l_.group)), cachedWordBytes()))
                          : workspace(0);
      Value* panelBytes = times(words_, 4 * l_.columns());
      Value* const firstPacked = packed;
      if (l_.keepPackedB) packed = ir_.at(packed, times(panel, panelBytes));
      Value* const packedStride = ir_.i64(4 * l_.columns());
      Value* packs = packsRows(b_, l_, strideB_);
      Value* first = l_.keepPackedB ? b_.CreateICmpEQ(at.row, ir_.i64(0)) : b_.getTrue();
      if (s_.cachesPackedB) first = b_.CreateAnd(first, b_.CreateNot(in_.isPacked));
      Value* packsNow = b_.CreateAnd(packs, first);
      if (l_.packsInFirstTile)
        panelB.toPack = Raw{.when = packsNow, .b = source, .to = packed};
      else
        ir_.when(packsNow, [&] { packPanel(at, source, packed, columns); });
      panelB.b = b_.CreateSelect(packs, packed, panelB.b);
      panelB.stride = b_.CreateSelect(packs, packedStride, panelB.stride);
      Value* packedNext = b_.CreateAnd(packs, b_.CreateNot(first));
      panelB.next = b_.CreateSelect(packedNext, ir_.at(packed, panelBytes), panelB.next);
      panelB.strideNext = b_.CreateSelect(packedNext, packedStride, panelB.strideNext);
      if (l_.keepPackedB) {
        // Lines to be written are fetched from the LLC, too.
        panelB.after = ir_.at(packed, panelBytes);
        panelB.tilesAfter =
            b_.CreateSelect(packsNow, ir_.i64(vectors / l_.prefetches(vectors) * l_.unroll), ir_.i64(0));
        // After the last panel, the first one is used again with other rows.
        Value* end = b_.CreateICmpSGE(times(b_.CreateAdd(panel, ir_.i64(1)), l_.columns()), at.columns);
        Value* wraps = b_.CreateAnd(packs, end);
        panelB.next = b_.CreateSelect(wraps, firstPacked, panelB.next);
        panelB.strideNext = b_.CreateSelect(wraps, packedStride, panelB.strideNext);
        panelB.tilesAfter = b_.CreateSelect(wraps, ir_.i64(0), panelB.tilesAfter);
      }
    }
    runKernels(at, column, panelB, vectors, lastLanes);
  }

  /// Bytes of one word of k of all columns in the packed-B cache.
  int64_t cachedWordBytes() const { return 4 * roundUp(s_.n, l_.columns()); }

  void packPanel(const Block& at, Value* source, Value* packed, int columns) {
    const PackSpec spec = packSpec(s_.b, l_.elementB);
    Value* stride = ir_.i64(4 * l_.columns());
    const int whole = columns / l_.lanes, ragged = columns % l_.lanes;
    if (!s_.transposedB) {
      b_.CreateCall(packRows(module_, byWords(spec), whole + (ragged > 0), ragged ? ragged : l_.lanes),
                    {source, strideB_, packed, stride, at.depth});
      return;
    }
    const auto copy = [&](Value* index, int present) {
      Value* from = ir_.at(source, times(times(index, l_.lanes), strideB_));
      Value* to = ir_.at(packed, times(index, l_.vectorBytes()));
      b_.CreateCall(packTransposed(module_, byVectors(spec), present), {from, strideB_, to, stride, at.depth});
    };
    if (whole) ir_.loop(ir_.i64(0), ir_.i64(whole), 1, [&](Value* index) { copy(index, l_.lanes); });
    if (ragged) copy(ir_.i64(whole), ragged);
  }

  /// The fewest words in a block of k.
  int64_t minWords() const {
    const int64_t last = s_.k % l_.blockDepth;
    return l_.words(last ? last : l_.blockDepth);
  }

  /// A panel that the first tile packs, under a condition.
  struct Raw {
    Value *when, *b, *to;
  };
  struct PanelB {
    Value *b, *stride, *next, *strideNext;
    Value *after, *tilesAfter;  ///< where the next panel will be packed, and tiles that prefetch that
    std::optional<Raw> toPack{};
  };

  void runKernels(const Block& at, Value* column, const PanelB& panel, int vectors, int lastLanes) {
    KernelSpec spec{.instruction = l_.instruction,
                    .memoryB = l_.packB ? (s_.c == DType::f32 ? DType::f32 : DType::i32) : s_.b,
                    .nativeHalf = l_.nativeHalf,
                    .unsignedA = s_.a == DType::u8,
                    .lanes = l_.lanes,
                    .rows = l_.rows,
                    .vectors = vectors,
                    .lastLanes = lastLanes,
                    .transposedA = s_.transposedA || l_.panelsA,
                    .panelRows = l_.panelsA ? l_.rows : 0,
                    .unroll = l_.unroll,
                    .rest = l_.words(s_.k) % l_.unroll != 0,
                    .few = minWords() < l_.unroll,
                    .store = s_.accumulate           ? StoreMode::add
                             : s_.k <= l_.blockDepth ? StoreMode::set
                                                     : StoreMode::either,
                    .prefetches = l_.prefetches(vectors),
                    .prefetchesC = l_.prefetchesC,
                    .starts = l_.biasFactor != 0,
                    .addsRow = s_.addsRow};
    const Target target{ir_.at(ir_.at(in_.c, times(at.row, strideC_)), times(column, 4)),
                        s_.addsRow ? ir_.at(in_.row, times(column, 4)) : in_.c,
                        s_.accumulate ? b_.getTrue() : b_.CreateICmpNE(at.k, ir_.i64(0))};
    Value* tiles = b_.CreateUDiv(at.rows, ir_.i64(l_.rows));
    if (vectors < l_.vectors && !l_.unrollsLastColumns) spec.unroll = 1;
    if (s_.m >= l_.rows) wholeTiles(spec, target, tiles, panel);
    const int64_t rest = s_.m % l_.rows;
    if (rest == 0) return;
    if (!l_.unrollsLastRows) spec.unroll = 1;
    spec.rows = static_cast<int>(rest);
    ir_.when(b_.CreateICmpEQ(b_.CreateAdd(at.row, at.rows), ir_.i64(s_.m)),
             [&] { callKernel(spec, target, times(tiles, l_.rows), ir_.i64(1), panel); });
  }

  struct Target {
    Value *c, *row, *add;
  };

  void wholeTiles(const KernelSpec& spec, const Target& target, Value* tiles, const PanelB& panel) {
    Value* first = ir_.i64(0);
    if (const auto& raw = panel.toPack) {
      ir_.when(raw->when, [&] {
        KernelSpec packing = spec;
        packing.packs = packSpec(s_.b, l_.elementB);
        packing.unroll = 1;
        callKernel(packing, target, ir_.i64(0), ir_.i64(1),
                   {raw->b, strideB_, raw->to, ir_.i64(4 * l_.columns()), raw->to, ir_.i64(0)});
      });
      first = b_.CreateZExt(raw->when, b_.getInt64Ty());
    }
    callKernel(spec, target, times(first, l_.rows), b_.CreateSub(tiles, first), panel);
  }

  void callKernel(const KernelSpec& spec, const Target& target, Value* row, Value* tiles, const PanelB& panel) {
    Value* rowBytes = l_.panelsA ? times(words_, 4) : s_.transposedA ? ir_.i64(4) : kernelStrideA_;
    Value* a = ir_.at(a_, times(row, rowBytes));
    b_.CreateCall(microKernel(module_, spec),
                  valuesOf(MicroKernelArguments{.a = a,
                                                .strideA = kernelStrideA_,
                                                .b = panel.b,
                                                .strideB = panel.stride,
                                                .c = ir_.at(target.c, times(row, strideC_)),
                                                .strideC = strideC_,
                                                .words = words_,
                                                .tiles = tiles,
                                                .add = target.add,
                                                .next = panel.next,
                                                .strideNext = panel.strideNext,
                                                .starts = ir_.at(workspace(l_.offsetSums), times(row, 4)),
                                                .after = panel.after,
                                                .strideAfter = ir_.i64(4 * l_.columns()),
                                                .tilesAfter = panel.tilesAfter,
                                                .row = target.row}));
  }

  llvm::Module& module_;
  const Layout& l_;
  const GemmShape& s_;
  Ir& ir_;
  llvm::IRBuilder<>& b_;
  const GemmArguments in_;
  Value *strideA_, *strideB_, *strideC_;                              // bytes
  Value *a_ = nullptr, *kernelStrideA_ = nullptr, *words_ = nullptr;  // of the current block
};

}  // namespace

llvm::Function* emitGemm(llvm::Module& module, const GemmPlan& plan) {
  const GemmShape& shape = plan.shape();
  const std::string symbol =
      fmt::format("smalti_gemm_{}x{}x{}_{}_{}_{}{}{}{}{}{}", shape.m, shape.n, shape.k, name(shape.a), name(shape.b),
                  name(shape.c), shape.transposedA ? "_ta" : "", shape.transposedB ? "_tb" : "",
                  shape.accumulate ? "_add" : "", shape.cachesPackedB ? "_kept" : "", shape.addsRow ? "_row" : "");
  if (auto* made = module.getFunction(symbol)) return made;
  Ir ir(module, symbol, parameterTypes(module.getContext(), GemmArguments::typesOf(shape)));
  if (const auto* tiles = std::get_if<TileLayout>(&plan.layout)) {
    emitTileNest(module, *tiles, ir);
    ir.b.CreateRetVoid();
  } else {
    ProductNest(module, std::get<Layout>(plan.layout), ir).emit();
  }
  return ir.function;
}

}  // namespace smalti::cpu
