// Quotients from reciprocals, for rows that are divided by one value each (plan/RowDivisors.h).
#pragma once

#include "cpu/emit/NativeLowering.h"
#include "cpu/plan/RowDivisors.h"

namespace smalti::cpu {

/// Whether a scalar f32 is positive, and neither it nor its reciprocal is 0, infinite, NaN or close to these.
Reg emitIsReciprocalAccurate(Builder&, Reg divisor);
/// x / divisor of vectors for such divisors. Correctly rounded; if x is so small that a residual is denormal, the last
/// bit may differ.
Reg quotientByInverse(Builder&, Reg x, Reg divisor, Reg inverse);

}  // namespace smalti::cpu
