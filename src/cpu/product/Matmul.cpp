// Lowers tpu.matmul: one matrix product (product/gemm, SkinnyGemm.h) per batch element.
#include <array>

#include <fmt/format.h>

#include "cpu/analysis/ProductStore.h"
#include "cpu/analysis/RowMasks.h"
#include "cpu/emit/RowBounds.h"
#include "cpu/emit/elements/NarrowFloats.h"
#include "cpu/nest/Schedule.h"
#include "cpu/product/ConvertedCopy.h"
#include "cpu/product/Product.h"
#include "cpu/product/SkinnyGemm.h"
#include "ir/TpuOpsMemory.h"
#include "ir/facts/DotDimensions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {
namespace {

/// The dimensions of an operand that make it [batch…] × rows × columns.
struct Side {
  Shape batch;
  int64_t free = -1, contracting = -1;  ///< -1: of size 1
};

std::optional<Side> sideOf(std::span<const int64_t> shape, const Shape& batch, const Shape& free,
                           const Shape& contracting) {
  Side side;
  side.batch = batch;
  const auto only = [&](const Shape& dims, int64_t& out) {
    for (int64_t d : dims) {
      if (shape[static_cast<size_t>(d)] == 1) continue;
      if (out >= 0) return false;
      out = d;
    }
    return true;
  };
  if (!only(free, side.free) || !only(contracting, side.contracting)) return std::nullopt;
  return side;
}

/// A matrix that products can read: its last dimension is contiguous. `rows` and `columns` are dimensions of the view,
/// -1 for size 1.
struct Matrix {
  Reg base = nullptr, leading = nullptr;
  bool transposed = false;  ///< stored as columns × rows
};

std::optional<Matrix> matrixOf(NativeLowering& l, const View& v, int64_t rows, int64_t columns) {
  const auto size = [&](int64_t d) { return d < 0 ? int64_t{1} : v.shape[static_cast<size_t>(d)]; };
  const auto stride = [&](int64_t d) { return d < 0 ? l.index(1) : v.strides[static_cast<size_t>(d)]; };
  if (size(columns) == 1 || constantOf(stride(columns)) == 1)
    return Matrix{v.base, size(rows) == 1 ? l.index(size(columns)) : stride(rows), false};
  if (size(rows) == 1 || constantOf(stride(rows)) == 1)
    return Matrix{v.base, size(columns) == 1 ? l.index(size(rows)) : stride(columns), true};
  return std::nullopt;
}

/// The view as such a matrix, copied if necessary.
Matrix matrixIn(NativeLowering& l, const View& v, int64_t rows, int64_t columns) {
  if (auto matrix = matrixOf(l, v, rows, columns)) return *matrix;
  return *matrixOf(l, l.denseCopy(v), rows, columns);
}

class MatmulLowering {
 public:
  MatmulLowering(NativeLowering& l, mlir::Operation& op, DotDimensions dims) : l_(l), op_(op), dims_(std::move(dims)) {}

  LowerResult run() {
    const DType lhsType = elementDType(op_.getOperand(0).getType()),
                rhsType = elementDType(op_.getOperand(1).getType());
    const DType out = elementDType(op_.getResult(0).getType());
    if (!multiplies(multipliedAs(lhsType, rhsType, out), multipliedAs(rhsType, lhsType, out), out) ||
        elementDType(op_.getOperand(2).getType()) != out)
      return lowerByInterpreter(l_, op_);
    const Shape lhsShape = shapeOf(op_.getOperand(0).getType()), rhsShape = shapeOf(op_.getOperand(1).getType());
    auto lhsSide = sideOf(lhsShape, dims_.lhsBatch, dims_.lhsFree, dims_.lhsContracting);
    auto rhsSide = sideOf(rhsShape, dims_.rhsBatch, dims_.rhsFree, dims_.rhsContracting);
    const bool several = !lhsSide || !rhsSide;  // free or contracting dimensions
    const Shape shape = shapeOf(op_.getResult(0).getType());
    if (num_elements(shape) == 0) {
      l_.setView(op_.getResult(0), l_.allocate(out, shape));
      return {};
    }
    // The product accumulates in f32 or i32; a narrow result is rounded once.
    const DType sum = isNarrowFloat(out) ? DType::f32 : out;
    const bool fromZero = isZeroConstant(op_.getOperand(2));
    bool accumulate = !fromZero;
    View result;
    if (fromZero && sum == out && !several)
      if (auto ok = takeDestination(result, accumulate, shape); !ok) return ok;
    if (auto ok = l_.flush(); !ok) return ok;
    const bool inPlace = result.base != nullptr;
    if (!inPlace) {
      result = l_.allocate(sum, shape);
      if (accumulate) startFrom(l_, l_.view(op_.getOperand(2)), result);
    }
    if (auto blocks = l_.blocks.find(op_.getOperand(1)); blocks != l_.blocks.end()) {
      const View lhs = l_.view(op_.getOperand(0));  // which may be stored as f32 (StorageDType.h)
      productOfBlocks(*lhsSide, *rhsSide, lhs, blocks->second, result,
                      {shape[0], shape[1], rhsShape[static_cast<size_t>(dims_.rhsContracting[0])], lhs.dtype,
                       blocks->second[0].dtype, sum, false, false, accumulate});
      l_.blocks.erase(blocks);
      if (!inPlace) l_.setView(op_.getResult(0), std::move(result));
      return {};
    }
    View lhs = multiplied(l_, op_.getOperand(0), op_.getOperand(1), out),
         rhs = multiplied(l_, op_.getOperand(1), op_.getOperand(0), out);
    if (!lhsSide) lhsSide = merge(lhs, dims_.lhsBatch, dims_.lhsFree, dims_.lhsContracting);
    if (!rhsSide) rhsSide = merge(rhs, dims_.rhsBatch, dims_.rhsFree, dims_.rhsContracting);
    resultRow_ = dims_.lhsBatch.size() + (several ? 0 : freePosition(0, dims_.lhsFree));

    const int64_t m = sizeOf(lhs, lhsSide->free), k = sizeOf(lhs, lhsSide->contracting), n = sizeOf(rhs, rhsSide->free);
    View matrices = result;
    if (several) {
      Shape merged(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(lhsSide->batch.size()));
      merged.insert(merged.end(), {m, n});
      matrices = *reshape(l_.b, result, merged);
    }
    batches(0, *lhsSide, *rhsSide, lhs, rhs, matrices, {m, n, k, lhs.dtype, rhs.dtype, sum, false, false, accumulate});
    if (inPlace) return {};
    if (sum != out) {
      View rounded = l_.allocate(out, shape);
      convertElements(l_, result, rounded);
      result = rounded;
    }
    l_.setView(op_.getResult(0), std::move(result));
    return {};
  }

 private:
  static int64_t sizeOf(const View& v, int64_t d) { return d < 0 ? 1 : v.shape[static_cast<size_t>(d)]; }

  /// If the product is only stored, possibly after an addition: `result` becomes the memory of the store, and the other
  /// operand of the addition is put there first. The rewrite HoistAboveProducts has made them consecutive.
  LowerResult takeDestination(View& result, bool& accumulate, const Shape& shape) {
    const auto destination = findProductStore(op_);
    if (!destination || !opsBetween(op_, *destination).empty()) return {};
    const mlir::Value ref = destination->store->getOperand(1);
    if (!l_.hasRef(ref) || l_.ref(ref).dtype != elementDType(op_.getResult(0).getType())) return {};
    auto box = storeBox(l_, *destination->store);
    if (!box) return tl::unexpected(box.error());
    auto target = targetOf(*destination, *box, shape);
    if (!target) return {};
    for (mlir::Operation* op : destination->chain) l_.scheduler.skip(op);
    row_ = addedRow(*destination, *box, shape);
    if (destination->added && !row_) {
      accumulate = true;
      if (!isLoadedFrom(*box, *destination)) {
        const Shape added = shapeOf(destination->added.getType());
        l_.addAccess({.op = destination->store, .stored = destination->added},
                     added == box->shape ? *box : *reshape(l_.b, *box, added));
      }
    }
    result = std::move(*target);
    return {};
  }

  /// Whether the other operand of the addition is what the memory of the store holds.
  bool isLoadedFrom(const View& box, const ProductStore& d) const {
    const ScheduledOp* load = d.added.getDefiningOp() ? l_.scheduler.findPending(d.added.getDefiningOp()) : nullptr;
    if (!load || !load->isLoad()) return false;
    const View& from = l_.boxOf(load->op);
    return from.memory == box.memory && from.dtype == box.dtype && from.shape == box.shape &&
           schedule::haveSameAddress(*load->op, *d.store);
  }

  /// A row vector that is added to every row of the product, such as a bias, unless the product overwrites it: the
  /// epilogue adds it to each tile in registers.
  mlir::Value addedRow(const ProductStore& d, const View& box, const Shape& shape) const {
    constexpr int64_t kManyRows = 16;  // fewer rows are not packed products
    mlir::Operation* op = d.added ? d.added.getDefiningOp() : nullptr;
    if (!llvm::isa_and_present<mlir::vector::BroadcastOp>(op) || !isVector(op->getOperand(0))) return nullptr;
    mlir::Value row = op->getOperand(0);
    const Shape from = shapeOf(row.getType()), to = shapeOf(d.added.getType());
    const bool matrix = dims_.lhsBatch.empty() && dims_.lhsFree.size() == 1 && dims_.rhsFree.size() == 1;
    if (!matrix || shape.size() != 2 || shape[0] < kManyRows || to != shape || from.empty() ||
        from.back() != shape[1] || num_elements(from) != shape[1])
      return nullptr;
    const int64_t depth = num_elements(shapeOf(op_.getOperand(0).getType())) / shape[0];
    const bool overwritten = llvm::any_of(l_.scheduler.pending(), [&](const ScheduledOp& p) {
      return p.isLoad() && mayOverlap(l_.boxOf(p.op), box) && feeds(*p.op, row);
    });
    return depth == 0 || overwritten ? nullptr : row;
  }
  static bool feeds(mlir::Operation& load, mlir::Value v) {
    while (v.getDefiningOp() && isUnitReshape(*v.getDefiningOp())) v = v.getDefiningOp()->getOperand(0);
    return v.getDefiningOp() == &load;
  }

  /// The memory of the store in the product's shape; nullopt if the product cannot be computed there.
  std::optional<View> targetOf(const ProductStore& destination, const View& box, const Shape& shape) {
    auto target = reshape(l_.b, box, shape);
    if (!target) return std::nullopt;
    if (!dims_.rhsFree.empty()) {
      const size_t column = dims_.lhsBatch.size() + dims_.lhsFree.size() + freePosition(1, dims_.rhsFree);
      if (shape[column] != 1 && constantOf(target->strides[column]) != 1) return std::nullopt;
    }
    if (readsTarget(destination, box)) return std::nullopt;
    return target;
  }

  /// Whether a deferred load, of an operand or for an op after the store, may read memory that the product overwrites.
  /// (The other operand of the addition is read element by element as it is overwritten.)
  bool readsTarget(const ProductStore& destination, const View& box) const {
    if (auto blocks = l_.blocks.find(op_.getOperand(1)); blocks != l_.blocks.end())
      if (llvm::any_of(blocks->second, [&](const View& block) { return mayOverlap(block, box); })) return true;
    llvm::DenseSet<mlir::Operation*> chain(destination.chain.begin(), destination.chain.end());
    return llvm::any_of(l_.scheduler.pending(), [&](const ScheduledOp& p) {
      return p.isLoad() && mayOverlap(l_.boxOf(p.op), box) && l_.scheduler.isNeededBeyond(p.op->getResult(0), chain);
    });
  }

  /// Reshapes an operand with several free or contracting dimensions to [batch…, free, contracting], as a copy if
  /// strides cannot express that.
  Side merge(View& operand, const Shape& batch, const Shape& free, const Shape& contracting) {
    View ordered = operand;
    ordered.shape.clear();
    ordered.strides.clear();
    Side side;
    const auto append = [&](const Shape& dims) {
      int64_t size = 1;
      for (int64_t d : dims) {
        ordered.shape.push_back(operand.shape[static_cast<size_t>(d)]);
        ordered.strides.push_back(operand.strides[static_cast<size_t>(d)]);
        size *= ordered.shape.back();
      }
      return size;
    };
    append(batch);
    Shape merged = ordered.shape;
    for (size_t d = 0; d < merged.size(); ++d) side.batch.push_back(static_cast<int64_t>(d));
    side.free = static_cast<int64_t>(merged.size());
    merged.push_back(append(free));
    side.contracting = static_cast<int64_t>(merged.size());
    merged.push_back(append(contracting));
    operand = *reshape(l_.b, isDense(ordered) ? ordered : l_.denseCopy(ordered), merged);
    return side;
  }

  void batches(size_t d, const Side& lhsSide, const Side& rhsSide, View lhs, View rhs, View result, GemmShape shape) {
    if (d == lhsSide.batch.size()) {
      product(lhsSide, rhsSide, lhs, rhs, result, shape);
      return;
    }
    const auto a = static_cast<size_t>(lhsSide.batch[d]), b = static_cast<size_t>(rhsSide.batch[d]);
    l_.loop(l_.index(0), l_.index(lhs.shape[a]), l_.index(1), [&](Reg i) {
      const auto at = [&](const View& v, size_t dim) {
        View out = v;
        std::vector<Reg> starts(v.shape.size(), l_.index(0));
        starts[dim] = i;
        out.base = elementPointer(l_.b, v, starts);
        return out;
      };
      batches(d + 1, lhsSide, rhsSide, at(lhs, a), at(rhs, b), at(result, d), shape);
    });
  }

  void product(const Side& lhsSide, const Side& rhsSide, const View& lhs, const View& rhs, const View& result,
               GemmShape shape) {
    const Matrix a = matrixIn(l_, lhs, lhsSide.free, lhsSide.contracting);
    const Matrix b = matrixIn(l_, rhs, rhsSide.contracting, rhsSide.free);
    shape.transposedA = a.transposed;
    shape.transposedB = b.transposed;
    // The last dimensions of the result are the free ones of the left operand, then of the right one.
    Reg leading = lhsSide.free < 0 ? l_.index(shape.n) : result.strides[resultRow_];
    shape.addsRow = row_ != nullptr;
    const auto rowsOf = [&](Reg row, int64_t count) {
      GemmShape some = shape;
      some.m = count;
      const Matrix from{elementAt(l_.b, shape.a, a.base, l_.b.CreateMul(row, a.leading)), a.leading, a.transposed};
      View to = result;
      to.base = elementAt(l_.b, shape.c, result.base, l_.b.CreateMul(row, leading));
      emitMatrices(some, from, b, rhs, to, leading);
    };
    const auto all = [&] { emitMatrices(shape, a, b, rhs, result, leading); };
    const int64_t chunk = a.transposed || row_ ? 0 : rowsOfChunk(shape.m);
    const auto wanted = chunk ? neededRows(l_, {op_.getResult(0)}, shape.m) : std::nullopt;
    if (!wanted) {
      all();
      return;
    }
    l_.ifElse(
        l_.b.CreateICmpSLE(l_.b.CreateSub(wanted->end, wanted->begin), l_.index(shape.m / 2)),
        [&] {
          Reg first = l_.b.CreateMul(l_.b.CreateUDiv(wanted->begin, l_.index(chunk)), l_.index(chunk));
          l_.loop(first, wanted->end, l_.index(chunk), [&](Reg row) { rowsOf(row, chunk); });
        },
        all);
  }

  /// Of a product of which few rows are wanted: multiplied together, as one skinny product. 0: it has no such parts.
  int64_t rowsOfChunk(int64_t rows) const {
    const auto units = neededUnits(op_.getResult(0));
    if (!units || rows % units->units != 0) return 0;
    int64_t chunk = rows / units->units;
    while (chunk < kSlowRows && rows % (2 * chunk) == 0) chunk *= 2;
    return chunk <= kSkinnyRows && 2 * chunk <= rows ? chunk : 0;
  }

  void emitMatrices(const GemmShape& shape, const Matrix& a, const Matrix& b, const View& rhs, const View& result,
                    Reg leading) {
    const ProductPlan plan = planProduct({.shape = shape,
                                          .nextBIsKnown = rhs.hints.nextStepOffset != nullptr,
                                          .rowBytesOfB = knownRowBytes({b.base, b.leading}, shape.b),
                                          .reusedBlocksOfB = rhs.reuse.isInvariant ? rhs.reuse.blocks : 0},
                                         l_.processor);
    if (plan.isSkinny())
      emitSkinnyGemm(l_, plan,
                     {shape, a.base, a.leading, {{b.base, rhs.hints.nextStepOffset}}, b.leading, result.base, leading});
    else
      emitPacked(plan, a, b, rhs, result, leading);
    recordProduct(l_, plan);
  }

  void emitPacked(const ProductPlan& product, const Matrix& a, const Matrix& b, const View& rhs, const View& result,
                  Reg leading) {
    const GemmShape& shape = product.shape;
    const GemmPlan& plan = product.gemm;
    llvm::Function* nest = emitGemm(l_.module, shape, l_.processor);
    const auto workspace = l_.arena.allocate(plan.packedBytes);
    Reg work =
        l_.b.CreateConstInBoundsGEP1_64(l_.b.getInt8Ty(), l_.arenaBase, static_cast<uint64_t>(workspace->offset));
    llvm::SmallVector<Reg, 10> arguments{a.base, a.leading, b.base, b.leading, result.base, leading, work};
    if (shape.cachesPackedB) {
      const NativeLowering::PackedB& kept = packedBPlace(rhs, b, shape, plan);
      Reg place =
          l_.b.CreateConstInBoundsGEP1_64(l_.b.getInt8Ty(), l_.arenaBase, static_cast<uint64_t>(kept.place->offset));
      Reg from = kept.from;
      if (rhs.reuse.block) {
        place = l_.b.CreatePtrAdd(place, l_.b.CreateMul(rhs.reuse.block, l_.index(plan.packedCacheBytes)));
        from = l_.b.CreateInBoundsGEP(l_.b.getPtrTy(), from, rhs.reuse.block);
      }
      arguments.push_back(place);
      arguments.push_back(l_.b.CreateICmpEQ(l_.b.CreateLoad(l_.b.getPtrTy(), from), b.base));
      l_.b.CreateStore(
          l_.b.CreateSelect(rhs.reuse.isInvariant, b.base, llvm::ConstantPointerNull::get(l_.b.getPtrTy())), from);
    }
    if (row_) {
      const View row = l_.view(row_);
      const bool contiguous = shape.n == 1 || constantOf(row.strides.back()) == 1;
      arguments.push_back(contiguous ? row.base : l_.denseCopy(row).base);
    }
    l_.b.CreateCall(nest, arguments);
  }

  /// The product with a B of concatenated blocks (ConcatOperand.h), along the result's columns or the contraction.
  void productOfBlocks(const Side& lhsSide, const Side& rhsSide, const View& lhs, const std::vector<View>& blocks,
                       const View& result, GemmShape shape) {
    std::vector<Matrix> all;
    for (const View& block : blocks) all.push_back(matrixIn(l_, block, rhsSide.contracting, rhsSide.free));
    const Matrix& first = all.front();
    const auto leading = constantOf(first.leading);
    if (leading && llvm::all_of(all, [&](const Matrix& b) {
          return b.transposed == first.transposed && constantOf(b.leading) == leading;
        })) {
      const Matrix a = matrixIn(l_, lhs, lhsSide.free, lhsSide.contracting);
      RowProduct p{shape, a.base, a.leading, {}, first.leading, result.base, result.strides[0]};
      p.shape.transposedA = a.transposed;
      p.shape.transposedB = first.transposed;
      for (size_t i = 0; i < all.size(); ++i) p.b.push_back({all[i].base, blocks[i].hints.nextStepOffset});
      const ProductPlan plan = planProduct({.shape = p.shape,
                                            .blocksOfB = static_cast<int64_t>(p.b.size()),
                                            .nextBIsKnown = p.b[0].nextStepOffset != nullptr},
                                           l_.processor);
      if (plan.isSkinny()) {
        emitSkinnyGemm(l_, plan, p);
        recordProduct(l_, plan);
        return;
      }
    }
    const bool summed = rhsSide.contracting == 0;
    const auto count = static_cast<int64_t>(blocks.size());
    (summed ? shape.k : shape.n) /= count;
    for (int64_t i = 0; i < count; ++i) {
      const auto part = [&](const View& v, size_t d) {
        std::vector<Reg> starts(v.shape.size(), l_.index(0));
        Shape sizes = v.shape;
        sizes[d] /= count;
        starts[d] = l_.index(i * sizes[d]);
        return slice(l_.b, v, starts, sizes);
      };
      shape.accumulate |= summed && i > 0;
      product(lhsSide, rhsSide, summed ? part(lhs, static_cast<size_t>(lhsSide.contracting)) : lhs,
              blocks[static_cast<size_t>(i)], summed ? result : part(result, 1), shape);
    }
  }

  NativeLowering::PackedB& packedBPlace(const View& rhs, const Matrix& b, const GemmShape& shape,
                                        const GemmPlan& plan) {
    const std::string key = fmt::format(
        "{} {} {} {}x{} {}x{} {} {} {} {}", rhs.memory, constantOf(b.leading).value_or(-1), shape.transposedB, shape.k,
        shape.n, plan.blockDepth, plan.tileColumns, plan.mayUseUnpackedB, plan.usesTiles, name(shape.a), name(shape.b));
    NativeLowering::PackedB& kept = l_.packedB[key];
    if (kept.place) return kept;
    kept.place = l_.arena.allocateUnused(plan.packedCacheBytes * rhs.reuse.blocks);
    llvm::BasicBlock& entry = l_.function->getEntryBlock();
    Builder start(&entry, entry.begin());
    auto* slots = llvm::ArrayType::get(start.getPtrTy(), static_cast<uint64_t>(rhs.reuse.blocks));
    kept.from = start.CreateAlloca(slots);
    start.CreateStore(llvm::Constant::getNullValue(slots), kept.from);
    return kept;
  }

  /// The position of the free dimension of an operand that is larger than 1.
  size_t freePosition(unsigned operand, const Shape& free) const {
    const Shape shape = shapeOf(op_.getOperand(operand).getType());
    for (size_t i = 0; i < free.size(); ++i)
      if (shape[static_cast<size_t>(free[i])] != 1) return i;
    return 0;
  }

  NativeLowering& l_;
  mlir::Operation& op_;
  DotDimensions dims_;
  size_t resultRow_ = 0;  ///< dimension of the result that holds rows
  mlir::Value row_;       ///< row vector that is added to every row of the product; null: none
};

LowerResult lowerMatmul(NativeLowering& l, mlir::Operation& op) {
  return MatmulLowering(l, op, dotDimensionsOf(op)).run();
}

constexpr std::array<NativeOpRow, 1> kTable{{{"tpu.matmul", lowerMatmul}}};

}  // namespace

std::span<const NativeOpRow> matmulOps() { return kTable; }

}  // namespace smalti::cpu
