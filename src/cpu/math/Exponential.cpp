// exp, exp2, expm1, tanh: x = n ln2 + r with |r| ≤ ln2/2, and a polynomial in r.
#include "cpu/math/Coefficients.h"
#include "cpu/math/Families.h"
#include "cpu/math/Table.h"

namespace smalti::cpu {
namespace {

/// 1.5 · 2^23: adding it rounds to a whole number n, which then is in the low bits. With 126 more, the bits moved up by
/// 23 are those of 2^(n-1): n may go from -125 to 128.
constexpr float kRound = 12582912.0f + 126.0f;

struct Reduced {
  Lanes rounded;    ///< n + kRound
  Lanes remainder;  ///< x - n ln2
};

Reduced reduce(Lanes x) {
  const Lanes rounded = fma(x, kLog2OfE[0], kRound);
  const Lanes n = rounded - kRound;
  return {rounded, fma(n, -kLn2[1], fma(n, -kLn2[0], x))};
}

Lanes halfOfPower(Lanes rounded) { return floatOf(bitsOf(rounded) << 23); }

/// 2^n of half of `twice`. Where `isSmall`, n may be below -125: there by way of 2^64 times the value, so that
/// denormals are rounded once.
Lanes scaled(Lanes twice, Lanes rounded, Mask isSmall) {
  const Lanes power = bitsOf(rounded) << 23;
  const Lanes y = twice * floatOf(select(isSmall, power + (int64_t{64} << 23), power));
  return select(isSmall, y * 0x1p-64, y);
}

Lanes exp(Lanes operand) {
  if (scalesAtOnce(operand)) {
    // Far below 0 the remainder could grow beyond all bounds; far above, and of an infinity, the power mends it.
    const Reduced reduced = reduce(atLeast(operand, -105.0));
    const Lanes r = reduced.remainder;
    return scaledByPower(fma(fma(polynomial(r, kExpm1), r, 1.0), r, 1.0), reduced.rounded - kRound);
  }
  const Lanes x = atMost(atLeast(operand, -105.0), 88.8);
  const Reduced reduced = reduce(x);
  const Lanes r = reduced.remainder;
  const Lanes twice = fma(fma(polynomial(r, kExpm1), r, 1.0), r + r, 2.0);
  return scaled(twice, reduced.rounded, x < -86.0);
}

Lanes exp2(Lanes operand) {
  if (scalesAtOnce(operand)) {
    const Lanes n = roundedToEven(operand), f = operand - n;  // of an infinity NaN, which the infinite power mends
    return scaledByPower(fma(polynomial(f, kExp2), f, 1.0), n);
  }
  const Lanes x = atMost(atLeast(operand, -151.0), 128.25);
  const Lanes rounded = x + kRound;
  const Lanes f = x - (rounded - kRound);
  const Lanes twice = fma(polynomial(f, kExp2), f + f, 2.0);
  return scaled(twice, rounded, x < -124.0);
}

Lanes expm1(Lanes operand) {
  const Reduced reduced = reduce(atMost(atLeast(operand, -30.0), 88.8));
  const Lanes r = reduced.remainder;
  const Lanes small = fma(polynomial(r, kExpm1), r * r, r);
  const Lanes half = halfOfPower(reduced.rounded);
  const Lanes y = fma(half, small, half - 0.5);
  // Half of a denormal is not exact.
  return withSign(select(magnitude(operand) < 0x1p-64, operand, y + y), operand);
}

/// A polynomial for each eighth of an octave of |x| + 5/8: the pieces get wider as tanh gets smoother.
Lanes tanhByTable(llvm::ArrayRef<Lanes> operands) {
  const Lanes x = operands[0];
  const Lanes a = atMost(magnitude(x), 9.1);  // where it is 1
  return withSign(inPieces(a, shiftedRightUnsigned(bitsOf(a + 0.625), 20), kTanhTable), x);
}

/// x + x P(x²) near 0; above, 1 - 2 / (e^(2x) + 1), which is then above a half.
Lanes tanh(Lanes operand) {
  if (hasWideLanes(operand)) return bySixteen(operand, tanhByTable);
  const Lanes a = magnitude(operand), square = a * a;
  const Lanes small = fma(a * square, polynomial(square, kTanh), a);
  const Lanes twiceA = atMost(a + a, 20.0);
  const Lanes rounded = fma(twiceA, kLog2OfE[0], kRound);
  const Lanes f = fma(twiceA, kLog2OfE[0], kRound - rounded);
  const Lanes twice = fma(polynomial(f, kExp2Short), f + f, 2.0);
  const Lanes large = 1.0 - 2.0 / fma(twice, halfOfPower(rounded), 1.0);
  return withSign(select(a < kTanhSplit, small, large), operand);
}

constexpr UnaryFunction kExponentialFunctions[] = {
    {"math.exp", exp},
    {"math.exp2", exp2},
    {"math.expm1", expm1},
    {"math.tanh", tanh},
};

}  // namespace

std::span<const UnaryFunction> exponentials() { return kExponentialFunctions; }

}  // namespace smalti::cpu
