#include "ir/TpuOpsMxu.h"
#include "ir/dialect/Verify.h"

namespace smalti::tpu {
namespace {

using Dims = llvm::ArrayRef<int64_t>;

/// One operand's dimensions: each is once contracting, free or batch.
llvm::LogicalResult verifyPartition(MatmulOp op, const char* side, int64_t rank, Dims contracting, Dims free,
                                    Dims batch) {
  llvm::SmallVector<bool> seen(rank, false);
  for (Dims dims : {contracting, free, batch})
    for (int64_t d : dims) {
      if (d < 0 || d >= rank)
        return op.emitOpError() << "needs dimension numbers of " << side << " below its rank " << rank << ", has " << d;
      if (seen[d])
        return op.emitOpError() << "has dimension " << d << " of " << side << " twice in its dimension numbers";
      seen[d] = true;
    }
  if (llvm::is_contained(seen, false))
    return op.emitOpError() << "needs every dimension of " << side << " in its dimension numbers";
  return mlir::success();
}

llvm::LogicalResult verifySameSizes(MatmulOp op, const char* what, Dims lhs, Dims lhsDims, Dims rhs, Dims rhsDims) {
  if (lhsDims.size() != rhsDims.size())
    return op.emitOpError() << "needs as many " << what << " dimensions of lhs as of rhs, has " << lhsDims.size()
                            << " and " << rhsDims.size();
  for (auto [l, r] : llvm::zip(lhsDims, rhsDims))
    if (lhs[l] != rhs[r])
      return op.emitOpError() << "needs " << what << " dimensions of one size, has " << lhs[l] << " of lhs and "
                              << rhs[r] << " of rhs";
  return mlir::success();
}

llvm::LogicalResult verifyMxuIndex(mlir::Operation* op, int32_t index) {
  if (index >= 0) return mlir::success();
  return op->emitOpError() << "needs a matrix unit of 0 or more, has " << index;
}

llvm::LogicalResult verifyMatrix(mlir::Operation* op, const char* what, mlir::Type type) {
  const int64_t rank = mlir::cast<mlir::VectorType>(type).getRank();
  if (rank == 2) return mlir::success();
  return op->emitOpError() << "needs a " << what << " of 2 dimensions, has " << rank;
}

llvm::LogicalResult verifyStaged(mlir::Operation* op, std::optional<int32_t> staged) {
  if (!staged || *staged >= 0) return mlir::success();
  return op->emitOpError() << "needs a staging register of 0 or more, has " << *staged;
}

}  // namespace

llvm::LogicalResult MatmulOp::verify() {
  auto lhs = mlir::cast<mlir::VectorType>(getLhs().getType()), rhs = mlir::cast<mlir::VectorType>(getRhs().getType());
  auto acc = mlir::cast<mlir::VectorType>(getAcc().getType());
  if (bitsOf(acc.getElementType()) != 32) return emitOpError() << "needs a 32-bit accumulator, has " << acc;
  // Integers times floats (quantised weights) are a product of floats; integers may be summed as floats, too.
  const bool integers =
      mlir::isa<mlir::IntegerType>(lhs.getElementType()) && mlir::isa<mlir::IntegerType>(rhs.getElementType());
  if (!integers && mlir::isa<mlir::IntegerType>(acc.getElementType()))
    return emitOpError() << "needs an accumulator of floats, has " << acc;
  auto numbers = getDimensionNumbersAttr();
  if (!numbers) {
    if (lhs.getRank() != 2 || rhs.getRank() != 2)
      return emitOpError() << "needs dimension_numbers for operands that are not 2-dimensional, has " << lhs << " and "
                           << rhs;
    const int64_t m = lhs.getDimSize(getTransposeLhs() ? 1 : 0), k = lhs.getDimSize(getTransposeLhs() ? 0 : 1);
    const int64_t n = rhs.getDimSize(getTransposeRhs() ? 0 : 1), k2 = rhs.getDimSize(getTransposeRhs() ? 1 : 0);
    if (k != k2)
      return emitOpError() << "needs contracting dimensions of one size, has " << k << " of lhs and " << k2
                           << " of rhs";
    if (acc.getShape() != llvm::ArrayRef<int64_t>{m, n})
      return emitOpError() << "needs a result of shape " << m << "x" << n << ", has " << shapeText(acc.getShape());
    return mlir::success();
  }
  if (getTransposeLhs() || getTransposeRhs())
    return emitOpError() << "needs its transposes in dimension_numbers, has transpose_lhs or transpose_rhs as well";
  const Dims lc = numbers.getLhsContractingDims(), rc = numbers.getRhsContractingDims();
  const Dims lf = numbers.getLhsNonContractingDims(), rf = numbers.getRhsNonContractingDims();
  const Dims lb = numbers.getLhsBatchDims(), rb = numbers.getRhsBatchDims();
  if (failed(verifyPartition(*this, "lhs", lhs.getRank(), lc, lf, lb)) ||
      failed(verifyPartition(*this, "rhs", rhs.getRank(), rc, rf, rb)) ||
      failed(verifySameSizes(*this, "contracting", lhs.getShape(), lc, rhs.getShape(), rc)) ||
      failed(verifySameSizes(*this, "batch", lhs.getShape(), lb, rhs.getShape(), rb)))
    return mlir::failure();

  llvm::SmallVector<int64_t> order, shape;
  auto append = [&](int64_t side, Dims dims, llvm::ArrayRef<int64_t> sizes) {
    for (int64_t d : dims) {
      order.append({side, d});
      shape.push_back(sizes[d]);
    }
  };
  append(0, lb, lhs.getShape());
  append(0, lf, lhs.getShape());
  append(1, rf, rhs.getShape());
  if (numbers.getOutputDimOrder() != llvm::ArrayRef(order))
    return emitOpError() << "needs its result's dimensions in the order batch, lhs, rhs: [" << order << "], has ["
                         << numbers.getOutputDimOrder() << "]";
  if (acc.getShape() != llvm::ArrayRef(shape))
    return emitOpError() << "needs a result of shape " << shapeText(shape) << ", has " << shapeText(acc.getShape());
  return mlir::success();
}

llvm::LogicalResult MatmulPushRhsOp::verify() {
  if (failed(verifyMxuIndex(*this, getMxuIndex())) || failed(verifyMatrix(*this, "rhs", getRhs().getType())))
    return mlir::failure();
  return verifyStaged(*this, getStagingRegister());
}

llvm::LogicalResult MatmulAccLhsOp::verify() {
  if (static_cast<int32_t>(getAcc()) < 0) return emitOpError() << "needs an accumulator address of 0 or more";
  if (failed(verifyMxuIndex(*this, getMxuIndex())) || failed(verifyMatrix(*this, "lhs", getLhs().getType())))
    return mlir::failure();
  return verifyStaged(*this, getLoadStagedRhs());
}

llvm::LogicalResult MatmulPopOp::verify() {
  if (static_cast<int32_t>(getAcc()) < 0) return emitOpError() << "needs an accumulator address of 0 or more";
  if (failed(verifyMxuIndex(*this, getMxuIndex()))) return mlir::failure();
  return verifyMatrix(*this, "result", getResult().getType());
}

llvm::LogicalResult MatmulLhsFifoOp::verify() {
  if (failed(verifyMxuIndex(*this, getMxuIndex())) || failed(verifyMatrix(*this, "lhs", getLhs().getType())))
    return mlir::failure();
  return verifyStaged(*this, getLoadStagedRhs());
}

llvm::LogicalResult MatmulPopFifoOp::verify() {
  if (failed(verifyMxuIndex(*this, getMxuIndex()))) return mlir::failure();
  return verifyMatrix(*this, "result", getResult().getType());
}

}  // namespace smalti::tpu
