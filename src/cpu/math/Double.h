// Logarithm and power of two in double precision, good to 2^-29 or better: what remains is f32's own rounding.
#pragma once

#include "cpu/math/Lanes.h"

namespace smalti::cpu {

/// log(u) of normal positive double lanes, relative error 3e-14; anything finite for the others.
Lanes logOfDouble(Lanes u);
/// 2^d, |d| ≤ 1000, relative error 2e-9. NaN for NaN.
Lanes exp2OfDouble(Lanes d);

}  // namespace smalti::cpu
