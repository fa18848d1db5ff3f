// What a run of the kernel's body finds in its buffers: which of them it reads before it has written what it reads.
#pragma once

#include <string>
#include <vector>

#include "cpu/analysis/Boxes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu {

struct BufferUse {
  bool stored = false;     ///< somewhere
  bool readFirst = false;  ///< perhaps reads an element that this run has not written
  bool covered = false;    ///< every element is surely written when the run ends
};

struct BodyUse {
  std::vector<BufferUse> arguments;  ///< by number of the kernel function's argument; memrefs only
  /// The first op whose effect reaches beyond a run's own buffers or is not known ("tpu.sem_signal"); empty: none.
  std::string otherEffect;
};

/// One run of the body, whatever the grid indices and the values in memory are. Grid indices (the first arguments) are
/// known to be 0 where `zero` says so.
BodyUse useInOneRun(mlir::func::FuncOp kernel, const std::vector<bool>& zero);

/// Whether the value is unused, except by ops whose results are unused. JAX loads what a store replaces, and drops
/// it.
bool isDead(mlir::Value value, int depth = 0);

}  // namespace smalti::cpu
