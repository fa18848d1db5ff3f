// Functions whose results may be less exact: the attribute `tolerance = array<f64: atol, rtol>`. Ops keep their meaning
// without it, so that only code generators look at it.
#pragma once

#include "mlir/IR/Operation.h"
#include "smalti/tolerance.h"

namespace smalti {

/// None, or no pair of finite numbers from 0: the op is exact.
Tolerance toleranceOf(mlir::Operation&);
mlir::NamedAttribute toleranceAttribute(mlir::MLIRContext*, Tolerance);

}  // namespace smalti
