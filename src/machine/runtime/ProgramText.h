// Facts about a kernel's text that the runtime needs before it runs: the ops that raise semaphores.
#pragma once

#include <vector>

#include "machine/runtime/Compiled.h"
#include "mlir/IR/BuiltinOps.h"

namespace smalti::machine {

struct Communication {
  std::vector<SignalSite> sites;
  bool otherDevices = false;  ///< some signal or copy names a device or a core
  bool otherCores = false;    ///< some names a core
};
/// All signals and copies of the kernel. `gridRank`: arguments before the first memref.
Communication findCommunication(mlir::Operation* function, int gridRank);

}  // namespace smalti::machine
