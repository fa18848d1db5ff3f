// Facts about a kernel's text that the runtime needs before it runs: which refs may be written, who raises semaphores.
#pragma once

#include <vector>

#include "machine/runtime/Compiled.h"
#include "mlir/IR/BuiltinOps.h"

namespace smalti::machine {

/// True when the kernel may write through this ref or a view of it. Ops it does not know count as writes.
bool mayBeWritten(mlir::Value ref);

struct Communication {
  std::vector<SignalSite> sites;
  bool otherDevices = false;  ///< some signal or copy names a device or a core
  bool otherCores = false;    ///< some names a core
};
/// All signals and copies of the kernel. `gridRank`: arguments before the first memref.
Communication findCommunication(mlir::Operation* function, int gridRank);

}  // namespace smalti::machine
