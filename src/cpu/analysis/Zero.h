// Values that are zero everywhere.
#pragma once

#include "mlir/IR/Value.h"

namespace smalti::cpu {

/// Whether the value is zero everywhere, possibly after conversions.
bool isZero(mlir::Value);

}  // namespace smalti::cpu
