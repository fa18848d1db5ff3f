#include "cpu/product/gemm/Tiles.h"

#include <algorithm>

#include "base/Arithmetic.h"
#include "cpu/product/gemm/Arguments.h"
#include "cpu/product/gemm/Pack.h"
#include "cpu/product/gemm/TileKernel.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {
namespace {

using llvm::Value;

class TileNest {
 public:
  TileNest(llvm::Module& module, const TileLayout& layout, Ir& ir)
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
    ir_.blocks(s_.n, l_.blockColumns, [&](Value* column, Value* columns) {
      ir_.blocks(s_.k, l_.blockDepth, [&](Value* k, Value* depth) {
        ir_.blocks(s_.m, l_.blockRows, [&](Value* row, Value* rows) { block({column, columns, k, depth, row, rows}); });
      });
    });
  }

 private:
  struct Block {
    Value *column, *columns, *k, *depth, *row, *rows;
  };
  struct BlockOfA {
    Value *base, *stride;
  };

  Value* bytes(Value* elements, DType type) { return b_.CreateMul(elements, ir_.i64(storage_bytes(type))); }
  Value* times(Value* x, Value* y) { return b_.CreateMul(x, y); }
  Value* times(Value* x, int64_t y) { return b_.CreateMul(x, ir_.i64(y)); }
  Value* workspace(int64_t offset) { return ir_.at(in_.workspace, offset); }
  int stepValues() const { return l_.group * kTileLanes; }
  /// Tiles of k in a block.
  Value* steps(const Block& at) {
    return b_.CreateUDiv(b_.CreateAdd(at.depth, ir_.i64(stepValues() - 1)), ir_.i64(stepValues()));
  }
  PackSpec packSpec(DType from, int64_t whole) const {
    return {.from = from,
            .to = isByte(from) ? PackedElement::i8 : PackedElement::bf16,
            .group = l_.group,
            .lanes = kTileLanes,
            .tail = static_cast<int>(s_.k % whole)};
  }

  void block(const Block& at) {
    const BlockOfA a = blockOfA(at);
    if (s_.n >= kPanelColumns)
      ir_.loop(ir_.i64(0), b_.CreateUDiv(at.columns, ir_.i64(kPanelColumns)), 1,
               [&](Value* panel) { emitPanel(at, a, panel, kPanelColumns); });
    if (const auto rest = static_cast<int>(s_.n % kPanelColumns))
      ir_.when(b_.CreateICmpEQ(b_.CreateAdd(at.column, at.columns), ir_.i64(s_.n)),
               [&] { emitPanel(at, a, b_.CreateUDiv(at.columns, ir_.i64(kPanelColumns)), rest); });
  }

  BlockOfA blockOfA(const Block& at) {
    Value* from = ir_.at(ir_.at(in_.a, times(at.row, strideA_)), times(at.k, storage_bytes(s_.a)));
    if (!l_.packA) return {from, strideA_};
    Value *to = workspace(l_.offsetA), *stride = ir_.i64(l_.strideA);
    if (l_.planes > 1)
      b_.CreateCall(splitF32IntoBf16x3(module_, static_cast<int>(s_.k % stepValues())),
                    {from, strideA_, to, stride, ir_.i64(l_.planeBytes), at.rows, at.depth});
    else
      b_.CreateCall(packInOrder(module_, packSpec(s_.a, stepValues())),
                    {from, strideA_, to, stride, at.rows, at.depth});
    return {to, stride};
  }

  /// Columns [panel · 32, … + columns) of the block.
  void emitPanel(const Block& at, const BlockOfA& a, Value* panel, int columns) {
    Value* column = b_.CreateAdd(at.column, times(panel, kPanelColumns));
    Value* packed = workspace(0);
    if (s_.cachesPackedB) {
      const int64_t panels = ceilDiv(s_.n, kPanelColumns);
      packed = ir_.at(in_.packedB, times(b_.CreateUDiv(at.k, ir_.i64(l_.blockDepth)), panels * l_.panelBytes));
    }
    if (l_.keepPackedB) packed = ir_.at(packed, times(panel, l_.panelBytes));
    Value* first = l_.keepPackedB ? b_.CreateICmpEQ(at.row, ir_.i64(0)) : b_.getTrue();
    if (s_.cachesPackedB) first = b_.CreateAnd(first, b_.CreateNot(in_.isPacked));
    ir_.when(first, [&] { packPanel(at, column, packed, columns); });
    multiply(at, a, column, packed, columns);
  }

  void packPanel(const Block& at, Value* column, Value* packed, int columns) {
    const int vectors = ceilDiv(columns, kTileLanes), last = columns - (vectors - 1) * kTileLanes;
    Value *outer = s_.transposedB ? column : at.k, *inner = s_.transposedB ? at.k : column;
    Value* source = ir_.at(ir_.at(in_.b, times(outer, strideB_)), times(inner, storage_bytes(s_.b)));
    Value* stride = ir_.i64(kPanelRowBytes);
    if (!s_.transposedB) {
      b_.CreateCall(packRows(module_, packSpec(s_.b, l_.group), vectors, last),
                    {source, strideB_, packed, stride, at.depth});
    } else {
      for (int v = 0; v < vectors; ++v)
        b_.CreateCall(packTransposed(module_, packSpec(s_.b, stepValues()), v + 1 == vectors ? last : kTileLanes),
                      {ir_.at(source, times(strideB_, v * kTileLanes)), strideB_, ir_.at(packed, 4 * kTileLanes * v),
                       stride, at.depth});
    }
    if (s_.k % stepValues() != 0) clearTail(at, packed, vectors);
    if (l_.planes > 1) copyFinite(at, packed, vectors);
  }

  /// Rows of a panel after the last word of k.
  void clearTail(const Block& at, Value* packed, int vectors) {
    Value* none = llvm::Constant::getNullValue(ir_.vectorOf(b_.getInt32Ty(), kTileLanes));
    Value* words = b_.CreateUDiv(b_.CreateAdd(at.depth, ir_.i64(l_.group - 1)), ir_.i64(l_.group));
    ir_.loop(words, times(steps(at), kTileRows), 1, [&](Value* word) {
      for (int v = 0; v < vectors; ++v)
        ir_.store(none, kTileLanes, ir_.at(ir_.at(packed, times(word, kPanelRowBytes)), 4 * kTileLanes * v));
    });
  }

  /// The second half of a panel of bf16.
  void copyFinite(const Block& at, Value* packed, int vectors) {
    constexpr int kHalves = 2 * kTileLanes;
    auto* type = ir_.vectorOf(b_.getInt16Ty(), kHalves);
    Value *exponent = llvm::ConstantInt::get(type, 0x7f80), *none = llvm::Constant::getNullValue(type);
    ir_.loop(ir_.i64(0), times(steps(at), kTileRows), 1, [&](Value* word) {
      for (int v = 0; v < vectors; ++v) {
        Value* from = ir_.at(ir_.at(packed, times(word, kPanelRowBytes)), 4 * kTileLanes * v);
        Value* x = ir_.load(b_.getInt16Ty(), kHalves, kHalves, from);
        Value* isFinite = b_.CreateICmpNE(b_.CreateAnd(x, exponent), exponent);
        ir_.store(b_.CreateSelect(isFinite, x, none), kHalves, ir_.at(from, l_.finiteB));
      }
    });
  }

  void multiply(const Block& at, const BlockOfA& a, Value* column, Value* packed, int columns) {
    TileKernelSpec spec{.a = l_.planes > 1 ? DType::bf16 : s_.a,
                        .b = s_.b,
                        .planes = l_.planes,
                        .finiteB = l_.finiteB,
                        .left = std::min(columns, kTileLanes),
                        .right = std::max(columns - kTileLanes, 0),
                        .store = s_.accumulate           ? StoreMode::add
                                 : s_.k <= l_.blockDepth ? StoreMode::set
                                                         : StoreMode::either,
                        .addsRow = s_.addsRow};
    Value* c = ir_.at(ir_.at(in_.c, times(at.row, strideC_)), times(column, 4));
    Value* row = s_.addsRow ? ir_.at(in_.row, times(column, 4)) : in_.c;
    Value* add = s_.accumulate ? b_.getTrue() : b_.CreateICmpNE(at.k, ir_.i64(0));
    const auto call = [&](Value* firstRow, Value* count) {
      b_.CreateCall(tileKernel(module_, spec),
                    valuesOf(TileKernelArguments{.a = ir_.at(a.base, times(firstRow, a.stride)),
                                                 .strideA = a.stride,
                                                 .planeA = ir_.i64(l_.planeBytes),
                                                 .b = packed,
                                                 .c = ir_.at(c, times(firstRow, strideC_)),
                                                 .strideC = strideC_,
                                                 .steps = steps(at),
                                                 .tiles = count,
                                                 .add = add,
                                                 .row = row}));
    };
    constexpr int kRows = 2 * kTileRows;
    Value* whole = b_.CreateUDiv(at.rows, ir_.i64(kRows));
    if (s_.m >= kRows) call(ir_.i64(0), whole);
    const auto rest = static_cast<int>(s_.m % kRows);
    if (rest == 0) return;
    spec.top = std::min(rest, kTileRows);
    spec.bottom = rest - spec.top;
    ir_.when(b_.CreateICmpEQ(b_.CreateAdd(at.row, at.rows), ir_.i64(s_.m)),
             [&] { call(times(whole, kRows), ir_.i64(1)); });
  }

  llvm::Module& module_;
  const TileLayout& l_;
  const GemmShape& s_;
  Ir& ir_;
  llvm::IRBuilder<>& b_;
  const GemmArguments in_;
  Value *strideA_, *strideB_, *strideC_;  // bytes
};

}  // namespace

void emitTileNest(llvm::Module& module, const TileLayout& layout, Ir& ir) { TileNest(module, layout, ir).emit(); }

}  // namespace smalti::cpu
