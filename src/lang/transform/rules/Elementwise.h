// Rules of element-wise ops. Derivatives are those that JAX uses, where they have a choice (ties, zeros, ends).
#pragma once

#include "lang/transform/rules/Support.h"

namespace smalti::lang::slopes {

#define SMALTI_SLOPE(name) Array name(const Array& t, const Array& x, const Array& y)
SMALTI_SLOPE(negate);
SMALTI_SLOPE(abs);
SMALTI_SLOPE(cbrt);
SMALTI_SLOPE(sinh);
SMALTI_SLOPE(cosh);
SMALTI_SLOPE(asinh);
SMALTI_SLOPE(acosh);
SMALTI_SLOPE(atanh);
SMALTI_SLOPE(asin);
SMALTI_SLOPE(acos);
SMALTI_SLOPE(atan);
SMALTI_SLOPE(erf);
SMALTI_SLOPE(erfc);
SMALTI_SLOPE(cos);
SMALTI_SLOPE(sin);
SMALTI_SLOPE(tan);
SMALTI_SLOPE(tanh);
SMALTI_SLOPE(exp);
SMALTI_SLOPE(exp2);
SMALTI_SLOPE(expm1);
SMALTI_SLOPE(log);
SMALTI_SLOPE(log1p);
SMALTI_SLOPE(logistic);
SMALTI_SLOPE(sqrt);
SMALTI_SLOPE(rsqrt);
SMALTI_SLOPE(reciprocal);
#undef SMALTI_SLOPE

#define SMALTI_SLOPE2(name) Array name(const Array& t, const Array& a, const Array& b, const Array& y)
SMALTI_SLOPE2(atan2First);
SMALTI_SLOPE2(atan2Second);
SMALTI_SLOPE2(divideFirst);
SMALTI_SLOPE2(divideSecond);
SMALTI_SLOPE2(timesOther);
SMALTI_SLOPE2(timesFirst);
SMALTI_SLOPE2(powerFirst);
SMALTI_SLOPE2(powerSecond);
SMALTI_SLOPE2(itself);
SMALTI_SLOPE2(negated);
SMALTI_SLOPE2(remainderSecond);
SMALTI_SLOPE2(extremeFirst);
SMALTI_SLOPE2(extremeSecond);
#undef SMALTI_SLOPE2

}  // namespace smalti::lang::slopes

namespace smalti::lang {

Differentiated jvpSelect(const OpCall&, Tangents);
std::vector<MaybeZero> transposeAdd(const OpCall&, const Mask&, Tangents);
std::vector<MaybeZero> transposeSubtract(const OpCall&, const Mask&, Tangents);
/// The transposition of ops that pass no derivative.
std::vector<MaybeZero> transposeZero(const OpCall&, const Mask&, Tangents);
std::vector<MaybeZero> transposeNegate(const OpCall&, const Mask&, Tangents);
std::vector<MaybeZero> transposeMultiply(const OpCall&, const Mask&, Tangents);
std::vector<MaybeZero> transposeDivide(const OpCall&, const Mask&, Tangents);
std::vector<MaybeZero> transposeSelect(const OpCall&, const Mask&, Tangents);
Differentiated jvpConvert(const OpCall&, Tangents);
std::vector<MaybeZero> transposeConvert(const OpCall&, const Mask&, Tangents);

}  // namespace smalti::lang
