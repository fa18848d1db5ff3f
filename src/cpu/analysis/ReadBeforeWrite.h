// Read-before-write analysis: the buffers of which a run of a kernel's body may read elements before it writes them.
#pragma once

#include <string>
#include <vector>

#include "cpu/analysis/Boxes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu {

struct BufferAccesses {
  bool stored = false;             ///< the run may write to it
  bool readFirst = false;          ///< the run may read an element that it has not written
  bool updatedAtomically = false;  ///< the run may update it by atomic ops
  bool covered = false;            ///< the run surely writes every element
};

struct BodyAccesses {
  std::vector<BufferAccesses> arguments;  ///< by number of the kernel function's argument; memrefs only
  /// The first op with an effect outside the run's own buffers, or an unknown one ("tpu.sem_signal"); empty: none.
  std::string otherEffect;
};

/// Analyses one run of the body for any grid indices and any values in memory. Grid indices (the first arguments) are
/// 0 where `zero` is true.
BodyAccesses accessesOfOneRun(mlir::func::FuncOp kernel, const std::vector<bool>& zero);

/// Whether the value is unused, except by ops whose results are unused. JAX loads what a store is about to replace and
/// discards it.
bool isDead(mlir::Value value, int depth = 0);

}  // namespace smalti::cpu
