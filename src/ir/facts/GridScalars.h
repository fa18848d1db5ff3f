// Scalars that code can compute for any step of the grid, before the step runs.
#pragma once

#include <cstdint>
#include <optional>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace smalti {

class KernelArguments;

/// Whether the scalar consists of integer arithmetic on block arguments for which `isKnown`, and on loads of scalars,
/// with at most 64 values in all. `accepts` is asked about each op, the loads (memref.load) as well.
bool isArithmeticOn(mlir::Value, llvm::function_ref<bool(mlir::BlockArgument)> isKnown,
                    llvm::function_ref<bool(mlir::Operation&)> accepts);

/// Whether the scalar only depends on grid indices and on scalar prefetch that nothing writes, so that it can be
/// computed for later steps.
bool isOfGrid(const KernelArguments&, mlir::Value);

/// The value of such a scalar, given those of block arguments; absent: it loads something, or has no value.
std::optional<int64_t> valueOf(mlir::Value, llvm::DenseMap<mlir::Value, int64_t>& known);

}  // namespace smalti
