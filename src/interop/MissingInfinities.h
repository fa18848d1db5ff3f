// Reductions that JAX starts with an infinity in a dtype that has none.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace smalti::interop {

/// JAX starts maxima and minima with an infinity. In a dtype without infinities (f8E4M3FN), it becomes a NaN, which
/// would be every result: they start with the least, or greatest, number instead.
void replaceMissingInfinities(mlir::ModuleOp);

}  // namespace smalti::interop
