// powf, rsqrt, cbrt.

#include "cpu/math/Double.h"
#include "cpu/math/Families.h"
#include "cpu/math/Nvidia.h"

namespace smalti::cpu {
namespace {

Lanes rsqrt(Lanes x) {
  return isForNvidia(x.code()) ? Lanes(x.code(), rsqrtOfNvidia(x.code(), x.value())) : 1.0 / squareRoot(x);
}

/// x y² with y = x^(-1/3): guessed from the bits, then Newton's y (4 - x y³) / 3, the last step in double.
Lanes cbrt(Lanes operand) {
  const Lanes a = magnitude(operand);
  const Mask isTiny = a < 0x1p-126;
  const Lanes x = select(isTiny, a * 0x1p24, a);
  constexpr double kZeroPoint = 0x54a21d2a;  // 4/3 of the bits of 1, a little less
  Lanes y = floatOf(toInteger(fma(toFloat(bitsOf(x)), -1.0 / 3, kZeroPoint)));
  const auto step = [](Lanes wideX, Lanes wideY) {
    return fma(wideX * wideY * wideY * wideY, wideY * (-1.0 / 3), wideY * (4.0 / 3));
  };
  for (int i = 0; i < 3; ++i) y = step(x, y);
  const Lanes wideX = widened(x), wideY = step(wideX, widened(y));
  const Lanes root = narrowed(wideX * wideY * wideY);
  const Lanes result = select(isTiny, root * 0x1p-8, root);
  return select((a > 0.0) & (a < kInfinity), withSign(result, operand), operand);
}

constexpr UnaryFunction kRootFunctions[] = {
    {"math.cbrt", cbrt},
    {"math.rsqrt", rsqrt},
};
constexpr BinaryFunction kBinary[] = {
    {"math.atan2", atan2},
    {"math.powf", power},
};

}  // namespace

/// 2^(y log2 |x|) in double; signs and special values are those of C's pow.
Lanes power(Lanes x, Lanes y) {
  const Lanes a = magnitude(x);
  const Lanes wide = widened(a);
  Lanes logarithm = logOfDouble(wide) * 1.4426950408889634;
  logarithm = select(wide < kInfinity, select(wide == 0.0, -kInfinity, logarithm), wide);
  const Lanes exponent = atMost(atLeast(widened(y) * logarithm, -300.0), 300.0);
  const Lanes positive = narrowed(exp2OfDouble(exponent));

  const Lanes half = y * 0.5;
  const Mask isWhole = truncated(y) == y;
  const Mask isOdd = isWhole & (truncated(half) != half);
  const Lanes sign = select(isOdd, x, a);
  const Mask isUndefined = (x < 0.0) & (x > -kInfinity) & (truncated(y) != y) & (y == y);
  const Lanes result = select(isUndefined, kNan, withSign(positive, sign));
  const Mask isOne = (y == 0.0) | (x == 1.0) | ((a == 1.0) & (magnitude(y) == kInfinity));
  return select(isOne, 1.0, result);
}

std::span<const UnaryFunction> roots() { return kRootFunctions; }
std::span<const BinaryFunction> binaryFunctions() { return kBinary; }

}  // namespace smalti::cpu
