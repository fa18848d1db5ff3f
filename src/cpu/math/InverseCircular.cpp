// asin, acos, atan, atan2.
#include <limits>

#include "cpu/math/Families.h"
#include "eval/MathCoefficients.h"

namespace smalti::cpu {

using namespace coefficients;
namespace {

/// asin of |x|, or of √((1 - |x|)/2) where |x| is above a half: asin |x| = π/2 - 2 of it.
struct Arc {
  Mask isFolded;
  Lanes value;
};

Arc arcOf(Lanes a) {
  const Mask isFolded = a > 0.5;
  const Lanes folded = fma(a, -0.5, 0.5);
  const Lanes square = select(isFolded, folded, a * a);
  const Lanes s = select(isFolded, squareRoot(folded), a);
  return {isFolded, fma(s * square, polynomial(square, kAsin), s)};
}

Lanes asin(Lanes x) {
  const Arc arc = arcOf(magnitude(x));
  const Lanes folded = fma(arc.value, -2.0, kHalfPi[0]) + kHalfPi[1];
  return withSign(select(arc.isFolded, folded, arc.value), x);
}

Lanes acos(Lanes x) {
  const Arc arc = arcOf(magnitude(x));
  const Lanes twice = arc.value + arc.value;
  const Lanes folded = select(x < 0.0, (kPi[0] - twice) + kPi[1], twice);
  const Lanes direct = (kHalfPi[0] - withSign(arc.value, x)) + kHalfPi[1];
  return select(arc.isFolded, folded, direct);
}

/// atan of 0 … 1
Lanes atanOfUnit(Lanes a) {
  const Lanes square = a * a;
  return fma(a * square, polynomial(square, kAtan), a);
}

Lanes atan(Lanes x) {
  const Lanes a = magnitude(x);
  const Mask isLarge = a > 1.0;
  const Lanes y = atanOfUnit(select(isLarge, 1.0 / a, a));
  return withSign(select(isLarge, (kHalfPi[0] - y) + kHalfPi[1], y), x);
}

constexpr UnaryFunction kInverseCircularFunctions[] = {
    {"math.acos", acos},
    {"math.asin", asin},
    {"math.atan", atan},
};

}  // namespace

Lanes atan2(Lanes y, Lanes x) {
  const Lanes ay = magnitude(y), ax = magnitude(x);
  const Mask isSteep = ay > ax;
  const Lanes small = select(isSteep, ax, ay), large = select(isSteep, ay, ax);
  // 0/0 is 0 here, ∞/∞ is 1.
  const Lanes ratio = select(small == large, select(small == 0.0, small, small.constant(1.0)), small / large);
  const Lanes arc = atanOfUnit(ratio);
  // π/2 ∓ arc if |y| > |x|; otherwise π - arc if x < 0, arc if x > 0.
  const Mask isLeft = bitsOf(x) < 0;
  const Lanes turned = select(isSteep, select(isLeft, arc, -arc), select(isLeft, -arc, arc));
  const Lanes zero = arc.constant(0.0);
  const Lanes high = select(isSteep, kHalfPi[0], select(isLeft, kPi[0], zero));
  const Lanes low = select(isSteep, kHalfPi[1], select(isLeft, kPi[1], zero));
  const Lanes around = (high + turned) + low;
  const Lanes nan = small.constant(std::numeric_limits<float>::quiet_NaN());
  return select(isNan(x) | isNan(y), nan, withSign(around, y));
}

std::span<const UnaryFunction> inverseCircular() { return kInverseCircularFunctions; }

}  // namespace smalti::cpu
