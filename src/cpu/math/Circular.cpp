// sin, cos, tan: polynomials within an eighth of a turn of zero.
#include "cpu/math/Families.h"
#include "cpu/math/RangeReduction.h"
#include "eval/MathCoefficients.h"

namespace smalti::cpu {

using namespace coefficients;
namespace {

/// sin or cos of the remainder, as `n` turns say; negative in the second half of the circle.
Lanes sineOf(Lanes n, Lanes r) {
  const Lanes square = r * r;
  const Lanes sine = fma(r * square, polynomial(square, kSin), r);
  const Lanes cosine = fma(fma(polynomial(square, kCos), square, -0.5), square, 1.0);
  const Lanes y = select((n & 1) != 0, cosine, sine);
  return floatOf(bitsOf(y) ^ ((n & 2) << 30));
}

/// y with its sign changed where x is negative.
Lanes turnedBy(Lanes y, Lanes x) { return floatOf(bitsOf(y) ^ (bitsOf(x) & -0x80000000ll)); }

Lanes sin(Lanes x) {
  const QuarterTurns turns = reduceByQuarterTurns(magnitude(x));
  return turnedBy(sineOf(turns.n, turns.remainder), x);
}

Lanes cos(Lanes x) {
  const QuarterTurns turns = reduceByQuarterTurns(magnitude(x));
  return sineOf(turns.n + 1, turns.remainder);
}

Lanes tan(Lanes x) {
  const QuarterTurns turns = reduceByQuarterTurns(magnitude(x));
  const Lanes r = turns.remainder, square = r * r;
  // tan(r + rest) = tan r + rest (1 + tan² r), of which a bit or two matter.
  const Lanes rest = turns.rest * fma(square, 1.5, 1.0);
  const Lanes y = r + fma(r * square, polynomial(square, kTan), rest);
  const Mask isOdd = (turns.n & 1) != 0;
  return turnedBy(select(isOdd, -1.0, y) / select(isOdd, y, y.constant(1.0)), x);
}

constexpr UnaryFunction kCircularFunctions[] = {
    {"math.cos", cos},
    {"math.sin", sin},
    {"math.tan", tan},
};

}  // namespace

std::span<const UnaryFunction> circular() { return kCircularFunctions; }

}  // namespace smalti::cpu
