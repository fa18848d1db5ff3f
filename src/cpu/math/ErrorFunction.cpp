// erf, erfc and the inverse of erf.

#include "cpu/math/Double.h"
#include "cpu/math/Families.h"
#include "cpu/math/Table.h"
#include "eval/MathCoefficients.h"

namespace smalti::cpu {

using namespace coefficients;
namespace {

/// From this argument on, erf is 1.
constexpr double kErfEnd = 3.937;

/// A polynomial for each eighth.
Lanes erfByTable(llvm::ArrayRef<Lanes> operands) {
  const Lanes x = operands[0];
  constexpr double kRoundToEighths = 1572864.0;  // 1.5 · 2^20: the number of the eighth is then in the low bits
  const Lanes a = atMost(magnitude(x), kErfEnd);
  return withSign(forEachTile(a, bitsOf(a + kRoundToEighths), kErfTable), x);
}

/// x + x P(x²) near 0; above, 1 - 2^-L(|x|), where 2^-L is below 0.19 and forgives its own error.
Lanes erf(Lanes operand) {
  if (hasWideLanes(operand)) return bySixteen(operand, erfByTable);
  constexpr float kRound = 12582912.0f + 127.0f;  // as in Exponential.cpp
  const Lanes a = magnitude(operand);
  const Lanes small = fma(polynomial(a * a, kErf), a, a);
  const Lanes exponent = -polynomial(atMost(a, 3.93), kErfTail);
  const Lanes rounded = exponent + kRound;
  const Lanes f = exponent - (rounded - kRound);
  const Lanes power = floatOf(bitsOf(rounded) << 23);
  const Lanes large = fma(-power, fma(polynomial(f, kExp2Short), f, 1.0), 1.0);
  return withSign(select(a < kErfSplit, small, large), operand);
}

/// e^(-x²) P((x - 4)/(x + 4)) / (1 + 2x), in double; 2 - erfc(-x) for negative x.
Lanes erfc(Lanes operand) {
  const Lanes x = widened(operand);
  const Lanes a = atMost(magnitude(x), 10.1);
  const Lanes one = a + a + 1.0, pole = a + 4.0;
  const Lanes inverse = 1.0 / (one * pole);
  const Lanes t = (a - 4.0) * one * inverse;
  const Lanes gauss = exp2OfDouble(a * a * -1.4426950408889634);
  const Lanes y = gauss * (polynomial(t, kErfcDouble) * (pole * inverse));
  return narrowed(select(x < 0.0, 2.0 - y, y));
}

/// x P(w) with w = -log(1 - x²), in the tails x Q(√w), in double.
Lanes erfInv(Lanes operand) {
  const Lanes x = widened(operand);
  const Lanes w = -logOfDouble((1.0 - x) * (1.0 + x));
  const Lanes middle = polynomial(w - 2.5, kErfInvDouble);
  const Lanes tail = polynomial(squareRoot(atLeast(w, 1.0)) - 3.0, kErfInvTailDouble);
  const Lanes y = narrowed(x * select(w < 5.0, middle, tail));
  const Lanes a = magnitude(operand);
  const Lanes special = select(a == 1.0, withSign(a.constant(kInfinity), operand), a.constant(kNan));
  return select(a < 1.0, y, special);
}

constexpr UnaryFunction kErrorFunctionFunctions[] = {
    {"chlo.erf_inv", erfInv},
    {"math.erf", erf},
    {"math.erfc", erfc},
};

}  // namespace

std::span<const UnaryFunction> errorFunctions() { return kErrorFunctionFunctions; }

}  // namespace smalti::cpu
