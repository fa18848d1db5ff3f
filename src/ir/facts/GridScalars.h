// Scalars that code can compute for any step of the grid, before the step runs.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace smalti {

/// Whether the scalar consists of integer arithmetic on block arguments for which `isKnown`, and on loads of scalars,
/// with at most 64 values in all. `accepts` is asked about each op, the loads (memref.load) as well.
bool isArithmeticOn(mlir::Value, llvm::function_ref<bool(mlir::BlockArgument)> isKnown,
                    llvm::function_ref<bool(mlir::Operation&)> accepts);

}  // namespace smalti
