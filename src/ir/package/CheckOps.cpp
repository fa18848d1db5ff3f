#include "ir/KernelOps.h"
#include "ir/TpuOpsSync.h"
#include "ir/package/Checks.h"

namespace smalti::package {

void checkOps(const KernelPackage& p, Violations& violations) {
  mlir::Operation* barrier = nullptr;
  p.module->walk([&](mlir::Operation* op) {
    const llvm::StringRef name = op->getName().getStringRef();
    if (!isKernelOp({name.data(), name.size()})) violations.add(refuseOp(name.str(), placeOf(op->getLoc())));
    if (!barrier && mlir::isa<tpu::SemBarrierOp>(op)) barrier = op;
  });
  // A bare kernel has no configuration, so nothing that could be inconsistent with it.
  const bool configured = p.config.serializationFormat.has_value();
  if (barrier && configured && !p.config.collectiveId)
    violations.add({.code = "SM3014",
                    .message = "the kernel uses the barrier semaphore, but its call has no collective_id",
                    .place = placeOf(barrier->getLoc()),
                    .need = "a collective_id, which says with which kernels the barrier is shared",
                    .have = "none",
                    .help = "give the call a collective_id: pltpu.CompilerParams(collective_id=0), in C++ "
                            ".compiler_params = {.collective_id = 0}"});
}

}  // namespace smalti::package
