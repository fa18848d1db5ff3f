// Which ops native code computes element by element.
#pragma once

#include "mlir/IR/Operation.h"

namespace smalti::cpu {

/// True when the op is element-wise and native for its dtypes (emit/elements/Elementwise.cpp has the table).
bool isNativeElementwise(mlir::Operation&);

}  // namespace smalti::cpu
