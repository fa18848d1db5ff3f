// Element-wise ops with NumPy's broadcasting and JAX's type promotion (S-D5), inside kernels and on whole arrays.
// Names, arguments and results are those of jax.numpy and jax.lax. Errors: SM6301 (shapes that do not broadcast),
// SM6302 (dtype the op does not take).
#pragma once

#include "smalti/operand.h"

namespace smalti {

Array add(const Operand& x, const Operand& y);
Array subtract(const Operand& x, const Operand& y);
Array multiply(const Operand& x, const Operand& y);
/// True division; integers give f32.
Array divide(const Operand& x, const Operand& y);
/// Rounds to −∞, as Python's `//`.
Array floor_divide(const Operand& x, const Operand& y);
/// Sign of the divisor, as Python's `%`.
Array mod(const Operand& x, const Operand& y);
/// lax.div: integers round to 0.
Array div(const Operand& x, const Operand& y);
/// lax.rem: sign of the dividend.
Array rem(const Operand& x, const Operand& y);
Array pow(const Operand& x, const Operand& y);
Array maximum(const Operand& x, const Operand& y);
Array minimum(const Operand& x, const Operand& y);
Array atan2(const Operand& y, const Operand& x);
Array nextafter(const Operand& x, const Operand& y);

Array negative(const Operand& x);
Array abs(const Operand& x);
Array sign(const Operand& x);
Array square(const Operand& x);
/// x to an integer power by squaring.
Array integer_pow(const Operand& x, int exponent);
Array exp(const Operand& x);
Array exp2(const Operand& x);
/// exp(x) - 1 without loss near 0. Outside kernels: a TPU core has no such instruction.
Array expm1(const Operand& x);
Array log(const Operand& x);
Array log1p(const Operand& x);
Array sqrt(const Operand& x);
Array rsqrt(const Operand& x);
/// Outside kernels, as all down to erfc.
Array cbrt(const Operand& x);
Array sinh(const Operand& x);
Array cosh(const Operand& x);
Array asinh(const Operand& x);
Array acosh(const Operand& x);
Array atanh(const Operand& x);
Array asin(const Operand& x);
Array acos(const Operand& x);
Array atan(const Operand& x);
/// 1 - erf(x) without loss where erf is near 1.
Array erfc(const Operand& x);
Array sin(const Operand& x);
Array cos(const Operand& x);
Array tan(const Operand& x);
Array tanh(const Operand& x);
/// 1 / (1 + exp(-x)): lax.logistic, jax.nn.sigmoid.
Array logistic(const Operand& x);
Array erf(const Operand& x);
Array erf_inv(const Operand& x);
Array floor(const Operand& x);
Array ceil(const Operand& x);
/// Half to even, as jnp.round.
Array round(const Operand& x);
Array is_finite(const Operand& x);
Array isnan(const Operand& x);
Array population_count(const Operand& x);
Array clz(const Operand& x);

Array bitwise_and(const Operand& x, const Operand& y);
Array bitwise_or(const Operand& x, const Operand& y);
Array bitwise_xor(const Operand& x, const Operand& y);
Array bitwise_not(const Operand& x);
Array logical_and(const Operand& x, const Operand& y);
Array logical_or(const Operand& x, const Operand& y);
Array logical_not(const Operand& x);
Array shift_left(const Operand& x, const Operand& y);
Array shift_right_arithmetic(const Operand& x, const Operand& y);
Array shift_right_logical(const Operand& x, const Operand& y);

/// pred results. NaN compares false except in `not_equal`.
Array equal(const Operand& x, const Operand& y);
Array not_equal(const Operand& x, const Operand& y);
Array less(const Operand& x, const Operand& y);
Array less_equal(const Operand& x, const Operand& y);
Array greater(const Operand& x, const Operand& y);
Array greater_equal(const Operand& x, const Operand& y);

/// condition ? x : y, all broadcast.
Array where(const Operand& condition, const Operand& x, const Operand& y);
Array clip(const Operand& x, const Operand& low, const Operand& high);

/// x, without a derivative (I5).
Array stop_gradient(const Operand& x);
/// x, outside kernels; a TPU kernel has no barrier for its compiler (SM6402).
Array optimization_barrier(const Operand& x);

/// Conversion of values; float to integer rounds to 0 and saturates, NaN gives 0.
Array astype(const Operand& x, DType dtype);
/// Same bits, same width.
Array bitcast_convert_type(const Operand& x, DType dtype);

inline Array operator+(const Operand& x, const Operand& y) { return add(x, y); }
inline Array operator-(const Operand& x, const Operand& y) { return subtract(x, y); }
inline Array operator*(const Operand& x, const Operand& y) { return multiply(x, y); }
inline Array operator/(const Operand& x, const Operand& y) { return divide(x, y); }
inline Array operator%(const Operand& x, const Operand& y) { return mod(x, y); }
inline Array operator-(const Operand& x) { return negative(x); }
inline Array operator&(const Operand& x, const Operand& y) { return bitwise_and(x, y); }
inline Array operator|(const Operand& x, const Operand& y) { return bitwise_or(x, y); }
inline Array operator^(const Operand& x, const Operand& y) { return bitwise_xor(x, y); }
inline Array operator~(const Operand& x) { return bitwise_not(x); }
/// On pred only, and without short-circuit: both sides are computed.
inline Array operator&&(const Operand& x, const Operand& y) { return logical_and(x, y); }
inline Array operator||(const Operand& x, const Operand& y) { return logical_or(x, y); }
inline Array operator!(const Operand& x) { return logical_not(x); }
inline Array operator<<(const Operand& x, const Operand& y) { return shift_left(x, y); }
/// Arithmetic on signed integers, logical on unsigned ones.
Array operator>>(const Operand& x, const Operand& y);
inline Array operator==(const Operand& x, const Operand& y) { return equal(x, y); }
inline Array operator!=(const Operand& x, const Operand& y) { return not_equal(x, y); }
inline Array operator<(const Operand& x, const Operand& y) { return less(x, y); }
inline Array operator<=(const Operand& x, const Operand& y) { return less_equal(x, y); }
inline Array operator>(const Operand& x, const Operand& y) { return greater(x, y); }
inline Array operator>=(const Operand& x, const Operand& y) { return greater_equal(x, y); }

}  // namespace smalti
