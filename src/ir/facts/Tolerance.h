// Functions whose results may be less exact: the attribute `tolerance = array<f64: atol, rtol>`. Ops keep their meaning
// without it, so that only code generators look at it.
#pragma once

#include "mlir/IR/Operation.h"
#include "smalti/tolerance.h"

namespace smalti {

/// With this one, code for exp and exp2 of f32 is shorter: exp(x) is within 3 + |x| units in the last place, and
/// results that are less than `atol` may be 0.
inline constexpr Tolerance kShortExponentials{.atol = 0x1p-124, .rtol = 0x1p-17};

/// With this one, code for divisions of f32 is shorter on some processors.
inline constexpr Tolerance kShortDivisions{.atol = 0, .rtol = 0x1p-22};

/// Whether what is allowed is at least what is needed.
constexpr bool covers(const Tolerance& allowed, const Tolerance& needed) {
  return allowed.atol >= needed.atol && allowed.rtol >= needed.rtol;
}

/// None, or no pair of finite numbers from 0: the op is exact.
Tolerance toleranceOf(mlir::Operation&);
mlir::NamedAttribute toleranceAttribute(mlir::MLIRContext*, Tolerance);
/// Lets the op be as inexact as this one, if it may not be already.
void allow(mlir::Operation&, Tolerance);

}  // namespace smalti
