#include "ir/TpuOpsShape.h"
#include "ir/dialect/Verify.h"

namespace smalti::tpu {
namespace {

llvm::LogicalResult verifyDimension(mlir::Operation* op, int64_t dimension, int64_t rank) {
  if (dimension >= 0 && dimension < rank) return mlir::success();
  return op->emitOpError() << "needs a dimension below the rank " << rank << ", has " << dimension;
}

}  // namespace

llvm::LogicalResult IotaOp::verify() {
  llvm::SmallVector<bool> seen(getResult().getType().getRank(), false);
  for (int32_t d : getDimensions()) {
    if (failed(verifyDimension(*this, d, std::ssize(seen)))) return mlir::failure();
    if (seen[d]) return emitOpError() << "has dimension " << d << " twice";
    seen[d] = true;
  }
  return mlir::success();
}

llvm::LogicalResult ConcatenateOp::verify() {
  if (getSources().size() < 2) return emitOpError() << "needs 2 or more vectors, has " << getSources().size();
  auto result = getResult().getType();
  const int64_t dimension = static_cast<int32_t>(getDimension());
  if (failed(verifyDimension(*this, dimension, result.getRank()))) return mlir::failure();
  int64_t sum = 0;
  for (mlir::Type type : getSources().getTypes()) {
    auto source = mlir::cast<mlir::VectorType>(type);
    if (source.getElementType() != result.getElementType())
      return emitOpError() << "needs vectors of " << result.getElementType() << ", has " << source;
    if (source.getRank() != result.getRank())
      return emitOpError() << "needs vectors of rank " << result.getRank() << ", has " << source;
    for (int64_t d = 0; d < result.getRank(); ++d)
      if (d != dimension && source.getDimSize(d) != result.getDimSize(d))
        return emitOpError() << "needs vectors that differ in dimension " << dimension << " only, has " << source
                             << " and " << result;
    sum += source.getDimSize(dimension);
  }
  if (sum != result.getDimSize(dimension))
    return emitOpError() << "needs a result of size " << sum << " in dimension " << dimension << ", has "
                         << result.getDimSize(dimension);
  return mlir::success();
}

llvm::LogicalResult TransposeOp::verify() {
  auto source = getVector().getType(), result = getResult().getType();
  const int64_t rank = source.getRank();
  if (source.getElementType() != result.getElementType())
    return emitOpError() << "needs a result of " << source.getElementType() << ", has " << result;
  if (std::ssize(getPermutation()) != rank || result.getRank() != rank)
    return emitOpError() << "needs a permutation and a result of rank " << rank << ", has " << getPermutation().size()
                         << " and " << result.getRank();
  llvm::SmallVector<bool> seen(rank, false);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t from = getPermutation()[i];
    if (failed(verifyDimension(*this, from, rank))) return mlir::failure();
    if (seen[from]) return emitOpError() << "has dimension " << from << " twice in its permutation";
    seen[from] = true;
    if (result.getDimSize(i) != source.getDimSize(from))
      return emitOpError() << "needs size " << source.getDimSize(from) << " in dimension " << i
                           << " of its result, has " << result.getDimSize(i);
  }
  return mlir::success();
}

llvm::LogicalResult DynamicRotateOp::verify() {
  const int64_t rank = getValue().getType().getRank();
  if (failed(verifyDimension(*this, getDimension(), rank))) return mlir::failure();
  if (getStride().has_value() != getStrideDimension().has_value())
    return emitOpError() << "needs stride and stride_dimension together";
  if (!getStride()) return mlir::success();
  if (static_cast<int32_t>(*getStride()) < 0)
    return emitOpError() << "needs a stride of 0 or more, has " << static_cast<int32_t>(*getStride());
  if (failed(verifyDimension(*this, *getStrideDimension(), rank))) return mlir::failure();
  if (getDimension() == *getStrideDimension())
    return emitOpError() << "needs a stride_dimension other than the rotated one, has " << getDimension() << " twice";
  return mlir::success();
}

llvm::LogicalResult DynamicGatherOp::verify() {
  auto source = getSource().getType(), indices = getIndices().getType(), result = getResult().getType();
  if (source.getElementType() != result.getElementType())
    return emitOpError() << "needs a result of " << source.getElementType() << ", has " << result;
  if (indices.getShape() != result.getShape())
    return emitOpError() << "needs indices of the result's shape " << shapeText(result.getShape()) << ", has "
                         << shapeText(indices.getShape());
  if (source.getRank() != result.getRank())
    return emitOpError() << "needs a source of rank " << result.getRank() << ", has " << source.getRank();
  llvm::SmallVector<bool> gathered(source.getRank(), false);
  for (int32_t d : getDimensions()) {
    if (failed(verifyDimension(*this, d, source.getRank()))) return mlir::failure();
    if (gathered[d]) return emitOpError() << "has dimension " << d << " twice";
    gathered[d] = true;
  }
  for (int64_t d = 0; d < source.getRank(); ++d)
    if (!gathered[d] && source.getDimSize(d) != result.getDimSize(d))
      return emitOpError() << "needs a result of size " << source.getDimSize(d) << " in dimension " << d
                           << ", along which nothing is gathered, has " << result.getDimSize(d);
  return mlir::success();
}

llvm::LogicalResult ReduceIndexOp::verify() {
  if (getKind() != ReductionKind::arg_max && getKind() != ReductionKind::arg_min)
    return emitOpError() << "needs the kind arg_max or arg_min, has " << stringifyReductionKind(getKind());
  auto input = getInput().getType(), result = getResult().getType();
  const mlir::Type element = input.getElementType();
  if (!element.isF32() && !element.isBF16()) return emitOpError() << "needs an input of f32 or bf16, has " << input;
  const unsigned bits = element.isF32() ? 32 : 16;
  if (!result.getElementType().isSignlessInteger(bits))
    return emitOpError() << "needs a result of i" << bits << " for an input of " << element << ", has " << result;
  const int64_t axis = static_cast<int32_t>(getAxis());
  if (failed(verifyDimension(*this, axis, input.getRank()))) return mlir::failure();
  if (input.getRank() < 2) return emitOpError() << "needs an input of 2 or more dimensions, has " << input;
  llvm::SmallVector<int64_t> shape(input.getShape());
  shape.erase(shape.begin() + axis);
  if (result.getShape() != llvm::ArrayRef(shape))
    return emitOpError() << "needs a result of shape " << shapeText(shape) << ", has " << shapeText(result.getShape());
  return mlir::success();
}

}  // namespace smalti::tpu
