#include "lang/transform/rules/Elementwise.h"

#include <cmath>
#include <numbers>

#include "smalti/ops.h"

namespace smalti::lang {
namespace slopes {

#define SMALTI_SLOPE(name) Array name(const Array& t, [[maybe_unused]] const Array& x, [[maybe_unused]] const Array& y)
SMALTI_SLOPE(negate) { return -t; }
SMALTI_SLOPE(abs) { return where(x >= 0, t, -t); }
SMALTI_SLOPE(cbrt) { return t * ((1.0 / 3) * (1.0 / square(y))); }
SMALTI_SLOPE(sinh) { return t * smalti::cosh(x); }
SMALTI_SLOPE(cosh) { return t * smalti::sinh(x); }
SMALTI_SLOPE(asinh) { return t * smalti::rsqrt(square(x) + 1.0); }
SMALTI_SLOPE(acosh) { return t * smalti::rsqrt((x - 1.0) * (x + 1.0)); }
SMALTI_SLOPE(atanh) { return (1.0 / (1.0 + x)) * (t / (1.0 - x)); }
SMALTI_SLOPE(asin) { return t * smalti::rsqrt(1.0 - square(x)); }
SMALTI_SLOPE(acos) { return t * -smalti::rsqrt(1.0 - square(x)); }
SMALTI_SLOPE(atan) { return t / (1.0 + square(x)); }
SMALTI_SLOPE(erf) { return (2 / std::sqrt(std::numbers::pi)) * (t * smalti::exp(-square(x))); }
SMALTI_SLOPE(erfc) { return (-2 / std::sqrt(std::numbers::pi)) * (t * smalti::exp(-square(x))); }
SMALTI_SLOPE(cos) { return -(t * smalti::sin(x)); }
SMALTI_SLOPE(sin) { return t * smalti::cos(x); }
SMALTI_SLOPE(tan) { return t * (1.0 + square(y)); }
SMALTI_SLOPE(tanh) { return (t + t * y) * (1.0 - y); }
SMALTI_SLOPE(exp) { return t * y; }
SMALTI_SLOPE(exp2) { return t * (std::numbers::ln2 * y); }
SMALTI_SLOPE(expm1) { return t * (y + 1.0); }
SMALTI_SLOPE(log) { return t / x; }
SMALTI_SLOPE(log1p) { return t / (x + 1.0); }
SMALTI_SLOPE(logistic) { return t * (y * (1.0 - y)); }
SMALTI_SLOPE(sqrt) { return t * (0.5 / y); }
SMALTI_SLOPE(rsqrt) { return t * (-0.5 * (y / x)); }
SMALTI_SLOPE(reciprocal) { return t * -square(y); }
#undef SMALTI_SLOPE

namespace {

/// 1 where x is the extreme alone, 1/2 where both are.
Array share(const Array& x, const Array& y, const Array& other) {
  const Array is = astype(x == y, x.dtype()), both = where(other == y, full_like(x, 2), full_like(x, 1));
  return is / both;
}

}  // namespace

#define SMALTI_SLOPE2(name)                                                                    \
  Array name(const Array& t, [[maybe_unused]] const Array& a, [[maybe_unused]] const Array& b, \
             [[maybe_unused]] const Array& y)
SMALTI_SLOPE2(atan2First) { return t * (b / (square(a) + square(b))); }
SMALTI_SLOPE2(atan2Second) { return t * (-a / (square(a) + square(b))); }
SMALTI_SLOPE2(divideFirst) { return t / b; }
SMALTI_SLOPE2(divideSecond) { return (-t * y) / b; }
SMALTI_SLOPE2(timesOther) { return t * b; }
SMALTI_SLOPE2(timesFirst) { return a * t; }
SMALTI_SLOPE2(powerFirst) {
  const Array one = full_like(b, 1), exponent = where(b == 0.0, one, b - 1.0);
  return t * where(b == 0.0, full_like(a, 0), b * pow(a, exponent));
}
SMALTI_SLOPE2(powerSecond) {
  // As in JAX, the logarithm of a base 0 is replaced by that of 1.
  return t * (smalti::log(where(a == 0.0, full_like(a, 1), a)) * y);
}
SMALTI_SLOPE2(itself) { return t; }
SMALTI_SLOPE2(negated) { return -t; }
SMALTI_SLOPE2(remainderSecond) {
  const Array q = a / b;
  return -t * (sign(q) * floor(smalti::abs(q)));
}
SMALTI_SLOPE2(extremeFirst) { return t * share(a, y, b); }
SMALTI_SLOPE2(extremeSecond) { return t * share(b, y, a); }
#undef SMALTI_SLOPE2

}  // namespace slopes

Differentiated jvpSelect(const OpCall& call, Tangents tangents) {
  const Array& c = call.operands[0];
  const ArrayType& type = call.results[0];
  return {{primalOf(call)},
          {bindLike(call, std::vector<Array>{c, instantiated(tangents[1], type), instantiated(tangents[2], type)},
                    type)[0]}};
}

std::vector<MaybeZero> transposeAdd(const OpCall&, const Mask& isLinear, Tangents ct) {
  return {isLinear[0] ? ct[0] : std::nullopt, isLinear[1] ? ct[0] : std::nullopt};
}
std::vector<MaybeZero> transposeSubtract(const OpCall&, const Mask& isLinear, Tangents ct) {
  return {isLinear[0] ? ct[0] : std::nullopt, isLinear[1] ? MaybeZero(-*ct[0]) : std::nullopt};
}
std::vector<MaybeZero> transposeZero(const OpCall& call, const Mask&, Tangents) {
  return std::vector<MaybeZero>(call.operands.size());
}
std::vector<MaybeZero> transposeNegate(const OpCall&, const Mask&, Tangents ct) { return {-*ct[0]}; }
std::vector<MaybeZero> transposeMultiply(const OpCall& call, const Mask& isLinear, Tangents ct) {
  if (isLinear[0] && isLinear[1]) refuseProduct(call);
  if (isLinear[0]) return {multiply(*ct[0], call.operands[1]), std::nullopt};
  return {std::nullopt, multiply(call.operands[0], *ct[0])};
}
std::vector<MaybeZero> transposeDivide(const OpCall& call, const Mask& isLinear, Tangents ct) {
  if (isLinear[1]) refuseProduct(call);
  return {div(*ct[0], call.operands[1]), std::nullopt};
}
std::vector<MaybeZero> transposeSelect(const OpCall& call, const Mask& isLinear, Tangents ct) {
  const Array &c = call.operands[0], zero = zeros_like(*ct[0]);
  return {std::nullopt, isLinear[1] ? MaybeZero(where(c, *ct[0], zero)) : std::nullopt,
          isLinear[2] ? MaybeZero(where(c, zero, *ct[0])) : std::nullopt};
}

Differentiated jvpConvert(const OpCall& call, Tangents tangents) {
  const bool floats = is_float(call.results[0].dtype) && tangents[0];
  return {{primalOf(call)}, {floats ? MaybeZero(convertTo(*tangents[0], call.results[0].dtype)) : std::nullopt}};
}
std::vector<MaybeZero> transposeConvert(const OpCall& call, const Mask&, Tangents ct) {
  return {convertTo(*ct[0], call.operands[0].dtype())};
}

}  // namespace smalti::lang
