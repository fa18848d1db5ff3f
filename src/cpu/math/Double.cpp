#include "cpu/math/Double.h"

#include "eval/MathCoefficients.h"

namespace smalti::cpu {

using namespace coefficients;

Lanes logOfDouble(Lanes u) {
  // u = 2^e m with m in √½ … √2. The exponent becomes a double as the low bits of 2^52, which every target can do.
  constexpr int64_t kOne = 0x3ff0000000000000, kSqrtHalf = 0x3fe6a09e667f3bcd, kTwo52 = 0x4330000000000000;
  constexpr int64_t kExponent = 0x7ff0000000000000;
  const Lanes fromSqrtHalf = bitsOf(u) + (kOne - kSqrtHalf);
  const Lanes biased = shiftedRightUnsigned(fromSqrtHalf & kExponent, 52);
  const Lanes e = floatOf(biased + kTwo52) - (4503599627370496.0 + 1023.0);
  const Lanes m = floatOf(bitsOf(u) - (fromSqrtHalf & kExponent) + kOne);
  const Lanes s = (m - 1.0) / (m + 1.0);
  const Lanes square = s * s;
  const Lanes tail = s * square * polynomial(square, kAtanhDouble);
  return fma(e, 0.6931471805599453, s + s + tail);
}

Lanes exp2OfDouble(Lanes d) {
  constexpr double kRound = 6755399441055744.0 + 1023.0;  // 1.5 · 2^52: adding it leaves a whole number in the low bits
  const Lanes t = d + kRound;
  const Lanes f = d - (t - kRound);
  return polynomial(f, kExp2Double) * floatOf(bitsOf(t) << 52);
}

}  // namespace smalti::cpu
