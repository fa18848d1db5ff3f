// sinh, cosh and the inverse functions, by double precision; tanh is with the exponentials.

#include "cpu/math/Double.h"
#include "cpu/math/Families.h"
#include "eval/MathCoefficients.h"

namespace smalti::cpu {

using namespace coefficients;
namespace {

/// e^|x| in double, for |x| up to 100.
Lanes expOfMagnitude(Lanes x) { return exp2OfDouble(atMost(widened(magnitude(x)), 100.0) * 1.4426950408889634); }

Lanes sinh(Lanes x) {
  const Lanes e = expOfMagnitude(x);
  const Lanes large = narrowed(0.5 * (e - 1.0 / e));
  const Lanes a = magnitude(x), square = a * a;
  const Lanes small = fma(a * square, polynomial(square, kSinh), a);
  return withSign(select(a < 1.0, small, large), x);
}

Lanes cosh(Lanes x) {
  const Lanes e = expOfMagnitude(x);
  return narrowed(0.5 * (e + 1.0 / e));
}

/// Below it the first two terms of the series are enough, and the logarithm would lose digits.
constexpr double kTiny = 0x1p-10;

Lanes asinh(Lanes x) {
  const Lanes a = magnitude(x), wide = widened(a);
  const Lanes large = narrowed(logOfDouble(wide + squareRoot(fma(wide, wide, 1.0))));
  const Lanes small = fma(a * (a * a), -1.0 / 6, a);
  const Lanes y = select(a < kTiny, small, large);
  return withSign(select(a < kInfinity, y, a), x);
}

Lanes acosh(Lanes x) {
  const Lanes wide = widened(x);
  const Lanes y = narrowed(logOfDouble(wide + squareRoot(fma(wide, wide, -1.0))));
  return select(x < 1.0, kNan, select(x < kInfinity, y, x));
}

Lanes atanh(Lanes x) {
  const Lanes a = magnitude(x), wide = widened(a);
  const Lanes large = narrowed(0.5 * logOfDouble((1.0 + wide) / (1.0 - wide)));
  const Lanes small = fma(a * (a * a), 1.0 / 3, a);
  const Lanes special = select(a == 1.0, kInfinity, a.constant(kNan));
  return withSign(select(a < 1.0, select(a < kTiny, small, large), special), x);
}

constexpr UnaryFunction kHyperbolicFunctions[] = {
    {"math.acosh", acosh}, {"math.asinh", asinh}, {"math.atanh", atanh}, {"math.cosh", cosh}, {"math.sinh", sinh},
};

}  // namespace

std::span<const UnaryFunction> hyperbolic() { return kHyperbolicFunctions; }

}  // namespace smalti::cpu
