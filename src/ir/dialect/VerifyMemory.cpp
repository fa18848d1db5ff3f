#include "ir/TpuOpsMemory.h"
#include "ir/dialect/Verify.h"

namespace smalti::tpu {
namespace {

llvm::LogicalResult verifyElements(mlir::Operation* op, mlir::MemRefType ref, mlir::VectorType vector) {
  if (ref.getElementType() != vector.getElementType())
    return op->emitOpError() << "needs a vector of the ref's elements, " << ref.getElementType() << ", has " << vector;
  return mlir::success();
}

llvm::LogicalResult verifyStrided(mlir::Operation* op, mlir::MemRefType ref, mlir::VectorType vector, size_t numIndices,
                                  llvm::ArrayRef<int32_t> strides, int32_t least) {
  if (failed(verifyElements(op, ref, vector)) || failed(verifyIndexCount(op, ref, numIndices))) return mlir::failure();
  if (std::ssize(strides) != ref.getRank())
    return op->emitOpError() << "needs a stride for each of the ref's " << ref.getRank() << " dimensions, has "
                             << strides.size();
  if (vector.getRank() != ref.getRank())
    return op->emitOpError() << "needs a vector of the ref's rank " << ref.getRank() << ", has " << vector;
  for (int32_t stride : strides)
    if (stride < least) return op->emitOpError() << "needs strides of " << least << " or more, has " << stride;
  return mlir::success();
}

llvm::LogicalResult verifySameSpace(mlir::Operation* op, mlir::MemRefType from, mlir::MemRefType to) {
  if (from.getMemorySpace() == to.getMemorySpace()) return mlir::success();
  return op->emitOpError() << "needs a result in the ref's memory space, has " << to << " of " << from;
}

llvm::LogicalResult verifyView(mlir::Operation* op, mlir::MemRefType from, mlir::MemRefType to) {
  if (failed(verifySameSpace(op, from, to))) return mlir::failure();
  if (from.getElementType() != to.getElementType())
    return op->emitOpError() << "needs a result of " << from.getElementType() << ", has " << to;
  return mlir::success();
}

}  // namespace

llvm::LogicalResult VectorStoreOp::verify() {
  auto ref = getBase().getType();
  auto vector = getValueToStore().getType();
  if (!getStrides().empty()) return emitOpError() << "needs no strides (that is strided_store), has " << getStrides();
  if (memorySpaceOf(ref) != MemorySpace::vmem) return emitOpError() << "needs a ref in VMEM, has " << ref;
  if (failed(verifyElements(*this, ref, vector)) || failed(verifyIndexCount(*this, ref, getIndices().size())))
    return mlir::failure();
  if (vector.getRank() > ref.getRank())
    return emitOpError() << "needs a vector of at most the ref's " << ref.getRank() << " dimensions, has " << vector;
  if (!getMask()) return mlir::success();
  auto mask = mlir::cast<mlir::VectorType>(getMask().getType());
  if (mask.getShape() != vector.getShape() || !mask.getElementType().isInteger(1))
    return emitOpError() << "needs a mask of the vector's shape " << shapeText(vector.getShape()) << " and of i1, has "
                         << mask;
  if (bitsOf(vector.getElementType()) != 32)
    return emitOpError() << "needs 32-bit elements to store with a mask, has " << vector;
  return mlir::success();
}

llvm::LogicalResult StridedLoadOp::verify() {
  return verifyStrided(*this, getBase().getType(), getResult().getType(), getIndices().size(), getStrides(), 0);
}

llvm::LogicalResult StridedStoreOp::verify() {
  return verifyStrided(*this, getBase().getType(), getValueToStore().getType(), getIndices().size(), getStrides(), 1);
}

llvm::LogicalResult MemRefSliceOp::verify() {
  auto from = getMemRef().getType(), to = getResult().getType();
  if (failed(verifyView(*this, from, to)) || failed(verifyIndexCount(*this, from, getBaseIdx().size())))
    return mlir::failure();
  if (to.getRank() != from.getRank())
    return emitOpError() << "needs a result of the ref's rank " << from.getRank() << ", has " << to;
  if (to.getNumDynamicDims() != getDynamicSizes().size())
    return emitOpError() << "needs a size for each of the result's " << to.getNumDynamicDims()
                         << " dynamic dimensions, has " << getDynamicSizes().size();
  // Copies may end in the padding of the last tile of an array in HBM: whether they do is known when the slice is
  // taken.
  if (const auto space = memorySpaceOf(from); space == MemorySpace::any || space == MemorySpace::hbm)
    return mlir::success();
  for (int64_t d = 0; d < from.getRank(); ++d)
    if (!from.isDynamicDim(d) && !to.isDynamicDim(d) && to.getDimSize(d) > from.getDimSize(d))
      return emitOpError() << "needs a slice of at most size " << from.getDimSize(d) << " in dimension " << d
                           << ", has " << to.getDimSize(d);
  return mlir::success();
}

llvm::LogicalResult MemRefSqueezeOp::verify() {
  auto from = getInput().getType(), to = getResult().getType();
  if (failed(verifyView(*this, from, to))) return mlir::failure();
  int64_t kept = 0;
  for (int64_t size : from.getShape()) {
    if (kept < to.getRank() && to.getDimSize(kept) == size)
      ++kept;
    else if (size != 1)
      return emitOpError() << "needs a result that lacks only dimensions of size 1, has " << shapeText(to.getShape())
                           << " of " << shapeText(from.getShape());
  }
  if (kept != to.getRank())
    return emitOpError() << "needs a result that lacks only dimensions of size 1, has " << shapeText(to.getShape())
                         << " of " << shapeText(from.getShape());
  return mlir::success();
}

llvm::LogicalResult MemRefReshapeOp::verify() {
  auto from = getInput().getType(), to = getResult().getType();
  if (failed(verifyView(*this, from, to))) return mlir::failure();
  if (!from.hasStaticShape() || !to.hasStaticShape())
    return emitOpError() << "needs refs of static shape, has " << from << " and " << to;
  if (from.getNumElements() != to.getNumElements())
    return emitOpError() << "needs a result of " << from.getNumElements() << " elements, has " << to.getNumElements();
  return mlir::success();
}

llvm::LogicalResult MemRefBitcastOp::verify() {
  auto from = getInput().getType(), to = getResult().getType();
  if (failed(verifySameSpace(*this, from, to))) return mlir::failure();
  if (bitsOf(from.getElementType()) == 0 || bitsOf(to.getElementType()) == 0)
    return emitOpError() << "needs refs of integers or floats, has " << from << " and " << to;
  return verifyBitcast(*this, from, to);
}

llvm::LogicalResult RegionOp::verifyRegions() {
  mlir::Block& block = getRegion().front();
  if (block.getNumArguments() != 0)
    return emitOpError() << "needs a body without arguments, has " << block.getNumArguments();
  auto yield = block.empty() ? YieldOp() : mlir::dyn_cast<YieldOp>(block.back());
  if (!yield) return emitOpError() << "needs a body that ends in tpu.yield";
  if (yield.getResults().getTypes() != getResultTypes())
    return emitOpError() << "needs a tpu.yield of its " << getNumResults() << " results, has another of "
                         << yield.getNumOperands() << " values";
  return mlir::success();
}

bool MemRefMemorySpaceIsOp::holds() {
  const auto space = memorySpaceOf(getInput().getType()), asked = std::optional(getMemorySpace().getValue());
  return (space == MemorySpace::any ? MemorySpace::hbm : space) == asked;
}

}  // namespace smalti::tpu
