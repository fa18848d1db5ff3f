// Which values and memories of a kernel may hold undefined elements.
#pragma once

#include "cpu/check/Plan.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Value.h"

namespace smalti::cpu {

struct Definedness {
  llvm::DenseSet<mlir::Value> values;   ///< not what is loaded and dropped
  llvm::DenseSet<mlir::Value> tracked;  ///< arguments and allocations
  bool isTracked(mlir::Value root) const { return tracked.contains(root); }
};

/// `package`: the one that was planned, or a clone. What is not tracked is never read undefined as long as every value
/// stored to it is defined; where that cannot be told it becomes tracked, unless it belongs to the caller.
Definedness findUndefined(const KernelPackage& package, const CheckPlan&);
/// Whether undefined elements may be stored to it: scratch, outputs and allocations, but nothing of the caller's.
bool isTrackable(const KernelPackage&, mlir::Value root);

bool isZeroIndex(mlir::Value);
/// A store of the whole ref, whatever was there.
bool overwrites(mlir::Operation&, mlir::Value ref);

}  // namespace smalti::cpu
