#include "ir/Upgrade.h"

#include "mlir/IR/PatternMatch.h"

#include "ir/TpuOpsSync.h"

namespace smalti::tpu {

// A wait_dma2 waits for the bytes of dst on its semaphore, wherever the copy came from: its device and core say
// nothing to the waiting side.
void upgradeLegacyOps(mlir::ModuleOp module) {
  module.walk([](WaitDMA2Op old) {
    mlir::OpBuilder b(old);
    WaitDMAOp::create(b, old.getLoc(), old.getSrc(), mlir::Value(), old.getDst(), old.getSemaphore(), mlir::Value(),
                      mlir::Value(), mlir::Value(), b.getI32IntegerAttr(0), old.getStrictOrderingAttr(),
                      b.getBoolAttr(true));
    old.erase();
  });
}

}  // namespace smalti::tpu
