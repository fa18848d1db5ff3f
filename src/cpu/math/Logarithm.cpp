// log, log2, log10, log1p: x = 2^e (1 + f) with 1 + f in √½ … √2, and a polynomial in f.

#include "cpu/math/Families.h"
#include "eval/MathCoefficients.h"

namespace smalti::cpu {

using namespace coefficients;
namespace {

constexpr int64_t kSqrtHalf = 0x3f3504f3, kOne = 0x3f800000;

struct Split {
  Lanes e;  ///< float
  Lanes f;
};

/// Splits positive finite x, including denormals.
Split split(Lanes x) {
  const Mask isTiny = x < 0x1p-126;
  const Lanes bits = bitsOf(select(isTiny, x * 0x1p23, x));
  const Lanes e = (bits - kSqrtHalf) >> 23;
  const Lanes m = floatOf(bits - (e << 23));
  return {toFloat(select(isTiny, e - 23, e)), m - 1.0};
}

/// log(1 + f) - f
Lanes beyondLinear(Lanes f) { return fma(polynomial(f, kLog1p), f, -0.5) * (f * f); }

/// y where x is positive and finite; else -∞ for 0, NaN for negative x, and x itself.
Lanes withSpecialValues(Lanes y, Lanes x) {
  const Lanes special = select(x < 0.0, kNan, select(x == 0.0, -kInfinity, x));
  return select((x > 0.0) & (x < kInfinity), y, special);
}

Lanes log(Lanes x) {
  const Split s = split(x);
  const Lanes y = fma(s.e, kLn2[0], s.f + fma(s.e, kLn2[1], beyondLinear(s.f)));
  return withSpecialValues(y, x);
}

/// f and its correction term, times a constant in two parts.
Lanes times(Lanes f, float high, float low) { return fma(f, high, fma(beyondLinear(f), high, f * low)); }

Lanes log2(Lanes x) {
  const Split s = split(x);
  return withSpecialValues(s.e + times(s.f, kLog2OfE[0], kLog2OfE[1]), x);
}

Lanes log10(Lanes x) {
  const Split s = split(x);
  const Lanes y = fma(s.e, kLog10Of2[0], fma(s.e, kLog10Of2[1], times(s.f, kLog10OfE[0], kLog10OfE[1])));
  return withSpecialValues(y, x);
}

Lanes log1p(Lanes operand) {
  // Where 1 + x = x, a quarter of x does, and 2^-e stays normal.
  const Mask isHuge = operand > 1e38;
  const Lanes x = select(isHuge, operand * 0.25, operand);
  const Lanes sum = x + 1.0;
  const Lanes e = (bitsOf(sum) - kSqrtHalf) >> 23;
  const Lanes scale = floatOf(kOne - (e << 23));
  const Lanes f = fma(x, scale, scale - 1.0);  // exact, however 1 + x was rounded
  const Lanes exponent = toFloat(select(isHuge, e + 2, e));
  const Lanes y = fma(exponent, kLn2[0], f + fma(exponent, kLn2[1], beyondLinear(f)));
  const Lanes special = select(operand < -1.0, kNan, select(operand == -1.0, -kInfinity, operand));
  return withSign(select((operand > -1.0) & (operand < kInfinity), y, special), operand);
}

constexpr UnaryFunction kLogarithmFunctions[] = {
    {"math.log", log},
    {"math.log10", log10},
    {"math.log1p", log1p},
    {"math.log2", log2},
};

}  // namespace

std::span<const UnaryFunction> logarithms() { return kLogarithmFunctions; }

}  // namespace smalti::cpu
