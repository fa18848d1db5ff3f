#include "ir/facts/Waits.h"

#include "ir/TpuOpsMemory.h"
#include "ir/TpuOpsSync.h"
#include "ir/Types.h"

namespace smalti {

bool isOnlyWaitedFor(mlir::Value ref) {
  if (ref.use_empty() || is_semaphore(elementDType(ref.getType()))) return false;
  return llvm::all_of(ref.getUses(), [](mlir::OpOperand& use) {
    mlir::Operation* op = use.getOwner();
    if (llvm::isa<tpu::WaitDMAOp>(op)) return true;
    return llvm::isa<tpu::MemRefSliceOp, tpu::MemRefSqueezeOp>(op) && use.getOperandNumber() == 0 &&
           isOnlyWaitedFor(op->getResult(0));
  });
}

}  // namespace smalti
