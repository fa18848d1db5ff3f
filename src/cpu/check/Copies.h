// Copies and semaphores of kernels that check themselves: what is in flight is watched when the kernel runs, shadows
// are copied with what they stand for, and semaphores must be back at zero.
#pragma once

#include <optional>

#include "cpu/Unsupported.h"
#include "ir/KernelPackage.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/IR/Builders.h"

namespace smalti::cpu {

/// Copies, waits, signals and semaphores.
bool isSynchronising(mlir::Operation&);
/// Why native code cannot check such an op, if so.
std::optional<Unsupported> cannotCheck(mlir::Operation&);

/// Has every op watched that may touch what a copy in flight does. Before other checks are added.
void watchCopies(const KernelPackage&);

/// Zero semaphores at the end of the scope, or in the last grid step. `require`: emits a check.
void requireZeroSemaphores(const KernelPackage&, llvm::function_ref<void(mlir::OpBuilder&, mlir::Value)> require);

}  // namespace smalti::cpu
