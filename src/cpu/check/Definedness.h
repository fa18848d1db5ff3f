// Which values and memories of a kernel may hold undefined elements.
#pragma once

#include "cpu/check/Plan.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Value.h"

namespace smalti::cpu {

struct Definedness {
  llvm::DenseSet<mlir::Value> values;   ///< without loaded values that are discarded
  llvm::DenseSet<mlir::Value> tracked;  ///< arguments and allocations
  bool isTracked(mlir::Value root) const { return tracked.contains(root); }
};

/// `package`: the one that was planned, or a clone. What is not tracked is never read undefined as long as every value
/// stored to it is defined; if that is not known it becomes tracked, unless it belongs to the caller.
Definedness findUndefined(const KernelPackage& package, const CheckPlan&);
/// Whether undefined elements may be stored to it. They may in scratch, outputs and allocations, but not in the
/// caller's memory.
bool isTrackable(const KernelPackage&, mlir::Value root);

bool isZeroIndex(mlir::Value);
/// Whether the op stores to the whole ref.
bool overwrites(mlir::Operation&, mlir::Value ref);

}  // namespace smalti::cpu
