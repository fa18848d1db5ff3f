// Matrix products and convolutions: where their results go, and how each product is computed.
#include <array>

#include "cpu/plan/BodyPlanner.h"
#include "cpu/plan/product/Convolution.h"
#include "cpu/plan/product/MatrixForm.h"
#include "cpu/plan/product/ProductTypes.h"
#include "cpu/rewrite/RoundInProducts.h"
#include "ir/TpuOpsMemory.h"
#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"
#include "ir/facts/Constants.h"
#include "ir/facts/DotDimensions.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {
namespace {

using schedule::isVector;
using schedule::ScheduledOp;

using KnownMatrix = MatrixForm<KnownNumber>;

/// An operand that products can read, and its dimensions of rows and columns.
struct MatrixOperand {
  MemoryView view;
  int64_t rows, columns;
  bool isCopy = false;
};

/// Copies one matrix of the batch; the copy has no reuse or prefetch hints.
MatrixOperand copiedMatrix(const MemoryView& v, int64_t rows, int64_t columns) {
  Shape shape;
  for (const int64_t d : {rows, columns}) shape.push_back(d < 0 ? 1 : v.shape[static_cast<size_t>(d)]);
  return {BodyPlanner::allocate(v.dtype, shape), 0, 1, true};
}
/// The view, copied if its matrix is not one that products can read.
MatrixOperand readableMatrix(const MemoryView& v, int64_t rows, int64_t columns) {
  return matrixForm(KnownArithmetic(), v, rows, columns) ? MatrixOperand{v, rows, columns}
                                                         : copiedMatrix(v, rows, columns);
}
KnownMatrix matrixOf(const MatrixOperand& o) { return *matrixForm(KnownArithmetic(), o.view, o.rows, o.columns); }

std::optional<int64_t> rowBytes(const KnownMatrix& m, DType dtype) {
  return m.leading ? std::optional(*m.leading * storage_bytes(dtype)) : std::nullopt;
}

/// An operand converted to the dtype that it is multiplied as.
MemoryView multiplied(BodyPlanner& p, mlir::Value operand, mlir::Value other, DType out) {
  const MemoryView view = p.view(operand);
  const DType t = multipliedAs(view.dtype, elementDType(other.getType()), out);
  return t == view.dtype ? view : BodyPlanner::allocate(t, view.shape);
}

/// Up to 1/n of the rows are multiplied in chunks, which are slower: one skinny product each. Chosen, not measured.
constexpr int64_t kShareInChunks = 2;

class MatmulPlanner {
 public:
  MatmulPlanner(BodyPlanner& p, mlir::Operation& op) : p_(p), op_(op), dims_(dotDimensionsOf(op)) {}

  NativeResult run() {
    if (!isNativeProduct(op_)) return p_.planInterpreted(op_);
    const DType out = elementDType(op_.getResult(0).getType());
    const Shape lhsShape = shapeOf(op_.getOperand(0).getType()), rhsShape = shapeOf(op_.getOperand(1).getType());
    const Shape shape = shapeOf(op_.getResult(0).getType());
    auto lhsSide = productSide(lhsShape, dims_.lhsBatch, dims_.lhsFree, dims_.lhsContracting);
    auto rhsSide = productSide(rhsShape, dims_.rhsBatch, dims_.rhsFree, dims_.rhsContracting);
    const bool several = !lhsSide || !rhsSide;  // free or contracting dimensions
    if (num_elements(shape) == 0) return finish(out, shape);
    const DType sum = accumulatedAs(out);
    const bool fromZero = isZero(op_.getOperand(2));
    made_.accumulates = !fromZero;
    if (fromZero && sum == out && !several)
      if (auto ok = chooseDestination(shape); !ok) return ok;
    p_.flush();
    if (!made_.destination && made_.accumulates) p_.view(op_.getOperand(2));
    if (const auto blocks = p_.concatOperands.find(op_.getOperand(1)); blocks != p_.concatOperands.end()) {
      const MemoryView lhs = p_.view(op_.getOperand(0));  // which may be stored as f32 (StorageDType.h)
      productOfBlocks(*lhsSide, *rhsSide, lhs, std::vector(blocks->second),
                      {shape[0], shape[1], rhsShape[static_cast<size_t>(dims_.rhsContracting[0])], lhs.dtype,
                       blocks->second[0].dtype, sum, false, false, made_.accumulates});
      p_.concatOperands.erase(op_.getOperand(1));
      return finish(out, shape);
    }
    MemoryView lhs = multiplied(p_, op_.getOperand(0), op_.getOperand(1), out),
               rhs = multiplied(p_, op_.getOperand(1), op_.getOperand(0), out);
    if (!lhsSide) lhsSide = merge(lhs, dims_.lhsBatch, dims_.lhsFree, dims_.lhsContracting);
    if (!rhsSide) rhsSide = merge(rhs, dims_.rhsBatch, dims_.rhsFree, dims_.rhsContracting);
    const int64_t m = sizeOf(lhs, lhsSide->free), k = sizeOf(lhs, lhsSide->contracting), n = sizeOf(rhs, rhsSide->free);
    GemmShape sizes{m, n, k, lhs.dtype, rhs.dtype, sum, false, false, made_.accumulates};
    sizes.roundsB = roundsRight(op_);
    product(*lhsSide, *rhsSide, lhs, rhs, sizes);
    return finish(out, shape);
  }

 private:
  static int64_t sizeOf(const MemoryView& v, int64_t d) { return d < 0 ? 1 : v.shape[static_cast<size_t>(d)]; }

  NativeResult finish(DType out, const Shape& shape) {
    if (!made_.destination) p_.setView(op_.getResult(0), BodyPlanner::allocate(out, shape));
    for (const ProductPlan& plan : made_.products)
      p_.products.push_back({plan, p_.nextPosition(), enclosingControlFlow(op_), made_.destination.has_value(),
                             made_.storesAdded, made_.rowsOfChunk});
    p_.plan.ops[&op_].product = std::move(made_);
    return {};
  }

  /// Computes the product in the memory of its store if it is only stored, possibly after an addition; the other
  /// operand of the addition is stored there first. The rewrite HoistAboveProducts has made these ops consecutive.
  NativeResult chooseDestination(const Shape& shape) {
    const auto destination = findProductStore(op_);
    if (!destination || !opsBetween(op_, *destination).empty()) return {};
    const mlir::Value ref = destination->store->getOperand(1);
    if (!p_.hasRef(ref) || p_.ref(ref).dtype != elementDType(op_.getResult(0).getType()) ||
        elementDType(destination->store->getOperand(0).getType()) != elementDType(ref.getType()))
      return {};
    const auto box = planStoreBox(p_, *destination->store);
    if (!box) return tl::unexpected(box.error());
    if (!suitsProduct(*destination, *box, shape)) return {};
    for (mlir::Operation* op : destination->chain) p_.scheduler.skip(op);
    made_.destination = destination;
    made_.addedRow = addedRow(*destination, *box, shape);
    if (destination->added && !made_.addedRow) {
      made_.accumulates = true;
      if (!isLoadedFrom(*box, *destination)) {
        made_.storesAdded = true;
        const Shape added = shapeOf(destination->added.getType());
        p_.locate(*destination->store, destination->added, added == box->shape ? *box : *reshape(*box, added));
      }
    }
    return {};
  }

  /// Whether such a load or store is deferred, and may access the memory.
  template <class Such>
  bool isDeferred(const MemoryView& box, const Such& such) const {
    return llvm::any_of(p_.scheduler.pending(),
                        [&](const ScheduledOp& o) { return such(o) && mayOverlap(p_.boxOf(o.op), box); });
  }

  /// Whether the other operand of the addition is what the memory of the store holds once deferred ops are computed.
  bool isLoadedFrom(const MemoryView& box, const ProductStore& d) const {
    const ScheduledOp* load = d.added.getDefiningOp() ? p_.scheduler.findPending(d.added.getDefiningOp()) : nullptr;
    if (!load || !load->isLoad()) return false;
    const bool overwritten = isDeferred(box, [](const ScheduledOp& o) { return o.isStore(); });
    const MemoryView& from = p_.boxOf(load->op);
    return !overwritten && from.memory == box.memory && from.dtype == box.dtype && from.shape == box.shape &&
           schedule::haveSameAddress(*load->op, *d.store);
  }

  /// The row vector, such as a bias, that the epilogue adds to each tile in registers; null: none, or the product
  /// overwrites the memory that the row is loaded from.
  mlir::Value addedRow(const ProductStore& d, const MemoryView& box, const Shape& shape) const {
    mlir::Operation* op = d.added ? d.added.getDefiningOp() : nullptr;
    if (!llvm::isa_and_present<mlir::vector::BroadcastOp>(op) || !isVector(op->getOperand(0))) return nullptr;
    const mlir::Value row = op->getOperand(0);
    const Shape from = shapeOf(row.getType()), to = shapeOf(d.added.getType());
    const bool matrix = dims_.lhsBatch.empty() && dims_.lhsFree.size() == 1 && dims_.rhsFree.size() == 1;
    if (!matrix || shape.size() != 2 || shape[0] < kPackRows || to != shape || from.empty() ||
        from.back() != shape[1] || num_elements(from) != shape[1])
      return nullptr;
    const int64_t k = num_elements(shapeOf(op_.getOperand(0).getType())) / shape[0];
    const bool overwritten = isDeferred(box, [&](const ScheduledOp& o) { return o.isLoad() && feeds(*o.op, row); });
    return k == 0 || overwritten ? nullptr : row;
  }
  static bool feeds(mlir::Operation& load, mlir::Value v) {
    while (v.getDefiningOp() && isUnitReshape(*v.getDefiningOp())) v = v.getDefiningOp()->getOperand(0);
    return v.getDefiningOp() == &load;
  }

  /// Whether the product can be computed in the memory of the store.
  bool suitsProduct(const ProductStore& destination, const MemoryView& box, const Shape& shape) const {
    const auto target = reshape(box, shape);
    if (!target) return false;
    if (!dims_.rhsFree.empty()) {
      const size_t column = dims_.lhsBatch.size() + dims_.lhsFree.size() +
                            freePosition(shapeOf(op_.getOperand(1).getType()), dims_.rhsFree);
      if (shape[column] != 1 && target->strides[column] != 1) return false;
    }
    return !readsTarget(destination, box);
  }

  /// Whether a deferred load, of an operand or for an op after the store, may read memory that the product overwrites.
  /// (The other operand of the addition is read element by element as it is overwritten.)
  bool readsTarget(const ProductStore& destination, const MemoryView& box) const {
    if (const auto blocks = p_.concatOperands.find(op_.getOperand(1)); blocks != p_.concatOperands.end())
      if (llvm::any_of(blocks->second, [&](const MemoryView& block) { return mayOverlap(block, box); })) return true;
    if (roundsRight(op_) && mayOverlap(p_.view(op_.getOperand(1)), box)) return true;
    const llvm::DenseSet<mlir::Operation*> chain(destination.chain.begin(), destination.chain.end());
    return isDeferred(
        box, [&](const ScheduledOp& o) { return o.isLoad() && p_.scheduler.isLiveOut(o.op->getResult(0), chain); });
  }

  /// Reshapes an operand with several free or contracting dimensions, as a copy if strides cannot express that.
  static ProductSide merge(MemoryView& operand, const Shape& batch, const Shape& free, const Shape& contracting) {
    const MergedOperand to = mergedOperand(operand.shape, batch, free, contracting);
    const MemoryView from = ordered(operand, to.order);
    operand = *reshape(isDense(from) ? from : BodyPlanner::denseCopy(from), to.shape);
    return to.side;
  }

  void product(const ProductSide& lhsSide, const ProductSide& rhsSide, const MemoryView& lhs, const MemoryView& given,
               GemmShape shape) {
    MatrixOperand left = readableMatrix(lhs, lhsSide.free, lhsSide.contracting);
    if (shape.roundsB && matrixOf(left).transposed)  // only skinny products round, which read rows of A
      left = copiedMatrix(lhs, lhsSide.free, lhsSide.contracting);
    const KnownMatrix a = matrixOf(left);
    const MatrixOperand right = readableMatrix(given, rhsSide.contracting, rhsSide.free);
    shape.transposedA = a.transposed;
    shape.transposedB = matrixOf(right).transposed;
    shape.addsRow = made_.addedRow != nullptr;
    const int64_t chunk = a.transposed || made_.addedRow ? 0 : rowsOfChunk(shape.m);
    if (chunk) made_.neededRows = p_.neededRows({op_.getResult(0)}, shape.m);
    if (made_.neededRows) {
      made_.rowsOfChunk = chunk;
      made_.mostNeededRows = shape.m / kShareInChunks;
      GemmShape some = shape;
      some.m = chunk;
      add(some, left, right);
    }
    add(shape, left, right);
  }

  /// The number of rows that are multiplied together, as one skinny product, if few rows are needed. 0: the product has
  /// no such parts.
  int64_t rowsOfChunk(int64_t rows) const {
    const auto needed = neededRowGroups(op_.getResult(0));
    if (!needed || rows % needed->groups != 0) return 0;
    int64_t chunk = rows / needed->groups;
    while (chunk < kSlowRows && rows % (2 * chunk) == 0) chunk *= 2;
    return chunk <= kSkinnyRows && 2 * chunk <= rows ? chunk : 0;
  }

  void add(const GemmShape& shape, const MatrixOperand& left, const MatrixOperand& right) {
    const MemoryView& rhs = right.view;
    add(cpu::planProduct({.shape = shape,
                          .nextBIsKnown = rhs.isNextKnown,
                          .rowBytesOfB = rowBytes(matrixOf(right), shape.b),
                          .reusedBlocksOfB = rhs.isReused ? rhs.reusedBlocks : 0,
                          .threads = p_.stepThreads},
                         p_.processor),
        left.isCopy, right.isCopy);
  }
  void add(ProductPlan plan, bool copiesA, bool copiesB) {
    plan.copiesA = copiesA;
    plan.copiesB = copiesB;
    if (plan.shape.addsRow) p_.view(made_.addedRow);
    made_.products.push_back(std::move(plan));
  }

  /// The product with a B of concatenated blocks (ConcatOperand.h), along the result's columns or the contraction.
  void productOfBlocks(const ProductSide& lhsSide, const ProductSide& rhsSide, const MemoryView& lhs,
                       const std::vector<MemoryView>& blocks, GemmShape shape) {
    const auto readable = [&](const MemoryView& block) {
      return readableMatrix(block, rhsSide.contracting, rhsSide.free);
    };
    const MatrixOperand front = readable(blocks.front());
    const KnownMatrix first = matrixOf(front);
    if (first.leading && llvm::all_of(blocks, [&](const MemoryView& block) {
          const MatrixOperand operand = readable(block);
          const KnownMatrix b = matrixOf(operand);
          return operand.isCopy == front.isCopy && b.transposed == first.transposed && b.leading == first.leading;
        })) {
      GemmShape joined = shape;
      const MatrixOperand left = readableMatrix(lhs, lhsSide.free, lhsSide.contracting);
      joined.transposedA = matrixOf(left).transposed;
      joined.transposedB = first.transposed;
      ProductPlan plan = cpu::planProduct({.shape = joined,
                                           .blocksOfB = static_cast<int64_t>(blocks.size()),
                                           .nextBIsKnown = front.view.isNextKnown,
                                           .rowBytesOfB = rowBytes(first, shape.b)},
                                          p_.processor);
      if (plan.isSkinny()) {
        made_.joinsBlocks = true;
        add(std::move(plan), left.isCopy, front.isCopy);
        return;
      }
    }
    const bool summed = rhsSide.contracting == 0;
    const auto count = static_cast<int64_t>(blocks.size());
    (summed ? shape.k : shape.n) /= count;
    MemoryView part = lhs;
    if (summed) {
      Shape sizes = lhs.shape;
      sizes[static_cast<size_t>(lhsSide.contracting)] /= count;
      part = slice(lhs, sizes);
    }
    for (int64_t i = 0; i < count; ++i) {
      shape.accumulate |= summed && i > 0;
      product(lhsSide, rhsSide, part, blocks[static_cast<size_t>(i)], shape);
    }
  }

  BodyPlanner& p_;
  mlir::Operation& op_;
  DotDimensions dims_;
  ProductOpPlan made_;
};

NativeResult planMatmul(BodyPlanner& p, mlir::Operation& op) { return MatmulPlanner(p, op).run(); }

NativeResult planConvolution(BodyPlanner& p, mlir::Operation& op) {
  const auto convolution = nativeConvolution(op);
  if (!convolution) return p.planInterpreted(op);
  p.flush();
  multiplied(p, op.getOperand(0), op.getOperand(1), elementDType(op.getResult(0).getType()));
  multiplied(p, op.getOperand(1), op.getOperand(0), elementDType(op.getResult(0).getType()));
  const GemmShape& shape = convolution->shape;
  if (shape.accumulate) p.view(op.getOperand(2));
  ProductPlan plan =
      cpu::planProduct({.shape = shape, .rowBytesOfB = convolution->leadingOfB * storage_bytes(shape.b)}, p.processor);
  plan.of = "a convolution";
  p.products.push_back({plan, p.nextPosition(), enclosingControlFlow(op)});
  ProductOpPlan made;
  made.products.push_back(std::move(plan));
  p.plan.ops[&op].product = std::move(made);
  const mlir::Type result = op.getResult(0).getType();
  p.setView(op.getResult(0), BodyPlanner::allocate(elementDType(result), shapeOf(result)));
  return {};
}

constexpr std::array<PlanOpRow, 2> kProductTable{{{"tpu.matmul", planMatmul}, {"tpu.conv", planConvolution}}};

}  // namespace

std::span<const PlanOpRow> plannedProductOps() { return kProductTable; }

}  // namespace smalti::cpu
