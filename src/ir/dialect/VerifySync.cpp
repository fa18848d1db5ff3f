#include "ir/TpuOpsSync.h"
#include "mlir/IR/TypeUtilities.h"

#include "ir/dialect/Verify.h"

namespace smalti::tpu {
namespace {

/// Source and target hold the same, but for the memory they are in.
template <class Dma>
llvm::LogicalResult verifyCopy(Dma op) {
  auto source = op.getSource().getType(), target = op.getTarget().getType();
  if (source.getElementType() != target.getElementType())
    return op.emitOpError() << "needs source and target of one element type, has " << source.getElementType() << " and "
                            << target.getElementType();
  if (source.getRank() != target.getRank() ||
      mlir::failed(mlir::verifyCompatibleShape(source.getShape(), target.getShape())))
    return op.emitOpError() << "needs source and target of one shape, has " << shapeText(source.getShape()) << " and "
                            << shapeText(target.getShape());
  for (auto [what, semaphore] :
       {std::pair{"source semaphore", op.getSourceSemaphore()}, std::pair{"target semaphore", op.getTargetSemaphore()}})
    if (semaphore && mlir::failed(verifySemaphore(op, what, semaphore.getType(), SemaphoreKind::any)))
      return mlir::failure();
  if (op.getSubcoreId()) return op.emitOpError() << "needs no subcore_id on a TensorCore, has one";
  return mlir::success();
}

}  // namespace

llvm::LogicalResult SemAllocOp::verify() {
  auto type = getResult().getType();
  if (!type.hasStaticShape()) return emitOpError() << "needs a static shape, has " << type;
  return verifySemaphore(*this, "a result", type, SemaphoreKind::any, /*single=*/false);
}

llvm::LogicalResult SemBarrierOp::verify() {
  return verifySemaphore(*this, "a result", getResult().getType(), SemaphoreKind::regular);
}

llvm::LogicalResult SemReadOp::verify() {
  return verifySemaphore(*this, "its operand", getSemaphore().getType(), SemaphoreKind::any);
}

llvm::LogicalResult SemWaitOp::verify() {
  return verifySemaphore(*this, "its operand", getSemaphore().getType(), SemaphoreKind::regular);
}

llvm::LogicalResult SemSignalOp::verify() {
  if (getSubcoreId()) return emitOpError() << "needs no subcore_id on a TensorCore, has one";
  return verifySemaphore(*this, "its operand", getSemaphore().getType(), SemaphoreKind::regular);
}

llvm::LogicalResult EnqueueDMAOp::verify() {
  if (failed(verifyCopy(*this))) return mlir::failure();
  if (!getTargetSemaphore()) return emitOpError() << "needs a target semaphore, has none";
  const bool remote = getDeviceId() || getCoreId();
  if (remote && !getSourceSemaphore())
    return emitOpError() << "needs a source semaphore, because it copies to another device or core";
  if (!remote && getSourceSemaphore())
    return emitOpError() << "needs a device_id or core_id, because it has a source semaphore";
  const int32_t priority = getPriority();
  if (priority != 0 && priority != 1) return emitOpError() << "needs the priority 0 or 1, has " << priority;
  if (remote && priority != 0)
    return emitOpError() << "needs the priority 0 to copy to another device, has " << priority;
  return mlir::success();
}

llvm::LogicalResult WaitDMAOp::verify() {
  if (failed(verifyCopy(*this))) return mlir::failure();
  if (getWaitTarget() ? !getTargetSemaphore() : !getSourceSemaphore())
    return emitOpError() << "needs the " << (getWaitTarget() ? "target" : "source")
                         << " semaphore it waits for, has none";
  return mlir::success();
}

llvm::LogicalResult WaitDMA2Op::verify() {
  return verifySemaphore(*this, "its operand", getSemaphore().getType(), SemaphoreKind::any);
}

}  // namespace smalti::tpu
