// Copies and semaphores of checked kernels: copies in flight are tracked at run time, shadows are copied together with
// their memory, and semaphores must be zero at the end.
#pragma once

#include <optional>

#include "cpu/Unsupported.h"
#include "ir/KernelPackage.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/IR/Builders.h"

namespace smalti::cpu {

/// Copies, waits, signals and semaphores.
bool isSynchronising(mlir::Operation&);
/// The reason why native code cannot check such an op, if there is one.
std::optional<Unsupported> cannotCheck(mlir::Operation&);

/// Marks every op that may conflict with a copy in flight. Must run before other checks are added.
void markHazardChecks(const KernelPackage&);

/// Checks that semaphores are zero at the end of the scope, or in the last grid step. `require`: emits a check.
void requireZeroSemaphores(const KernelPackage&, llvm::function_ref<void(mlir::OpBuilder&, mlir::Value)> require);

}  // namespace smalti::cpu
