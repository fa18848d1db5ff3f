// Element-wise ops with NumPy's broadcasting and JAX's type promotion (S-D5), in kernels and on whole arrays. Names and
// arguments are those of jax.numpy and jax.lax; integers wrap. Errors: SM6301 (shapes that do not broadcast), SM6302 (a
// dtype the op does not take). docs/values.md: all edge cases; docs/statements.md: what labels such as (S-D5) mean.
#pragma once

#include "smalti/operand.h"
#include "smalti/tolerance.h"

namespace smalti {

Array add(const Operand& x, const Operand& y);
Array subtract(const Operand& x, const Operand& y);
Array multiply(const Operand& x, const Operand& y);
/// True division; integers give f32. x / 0 is ±inf, 0 / 0 NaN.
Array divide(const Operand& x, const Operand& y);
/// Rounds towards −∞, as Python's `//`. For floats, floor(x / y).
Array floor_divide(const Operand& x, const Operand& y);
/// Has the sign of the divisor, as Python's `%`. Floats: NaN for a divisor 0.
Array mod(const Operand& x, const Operand& y);
/// lax.div: integers round towards 0; x / 0 is -1, or the largest unsigned number; the minimum / -1 is the minimum.
Array div(const Operand& x, const Operand& y);
/// lax.rem: has the sign of the dividend; integers: rem(x, 0) is x. Floats: C's fmod, NaN for a divisor 0.
Array rem(const Operand& x, const Operand& y);
Array pow(const Operand& x, const Operand& y);        ///< integers in f32; NaN for x < 0 and a fractional y
Array maximum(const Operand& x, const Operand& y);    ///< NaN if either is; +0 > -0 (S-E7)
Array minimum(const Operand& x, const Operand& y);    ///< NaN if either is; -0 < +0 (S-E7)
Array atan2(const Operand& y, const Operand& x);      ///< angle of (x, y) in [-π, π], radians
Array nextafter(const Operand& x, const Operand& y);  ///< the next float from x towards y; y where they are equal

Array negative(const Operand& x);  ///< of the smallest integer: itself
Array abs(const Operand& x);       ///< of the smallest integer: itself; unsigned integers and pred are unchanged
Array sign(const Operand& x);      ///< -1, 0 or 1; of floats NaN, +0 and -0 are unchanged
Array square(const Operand& x);
/// x to an integer power by squaring, in the dtype of x; a negative exponent gives 1 / x^-exponent, a float.
Array integer_pow(const Operand& x, int exponent);
/// Within 2.5 ulp, as all functions of f32 below (docs/values.md); integers in f32.
Array exp(const Operand& x);
Array exp2(const Operand& x);
/// With less exact results, where a kernel's native code is faster then; outside kernels exact.
Array exp(const Operand& x, Tolerance);
Array exp2(const Operand& x, Tolerance);
/// exp(x) - 1 without loss near 0. Outside kernels: a TPU core has no such instruction.
Array expm1(const Operand& x);
Array log(const Operand& x);    ///< natural; -inf of 0, NaN of negative numbers
Array log1p(const Operand& x);  ///< log(1 + x) without loss near 0; -inf of -1
Array sqrt(const Operand& x);   ///< correctly rounded; NaN of negative numbers
Array rsqrt(const Operand& x);  ///< 1 / sqrt(x); inf of 0, NaN of negative numbers
/// Only outside kernels, as are all functions down to erfc.
Array cbrt(const Operand& x);
Array sinh(const Operand& x);
Array cosh(const Operand& x);
Array asinh(const Operand& x);
Array acosh(const Operand& x);  ///< NaN below 1
Array atanh(const Operand& x);  ///< ±inf of ±1, NaN beyond
Array asin(const Operand& x);   ///< NaN outside [-1, 1]
Array acos(const Operand& x);   ///< NaN outside [-1, 1]
Array atan(const Operand& x);
/// 1 - erf(x) without loss where erf is near 1.
Array erfc(const Operand& x);
Array sin(const Operand& x);  ///< of radians; large arguments are reduced exactly; NaN of ±inf
Array cos(const Operand& x);
Array tan(const Operand& x);
Array tanh(const Operand& x);
/// 1 / (1 + exp(-x)): lax.logistic, jax.nn.sigmoid.
Array logistic(const Operand& x);
Array erf(const Operand& x);
Array erf_inv(const Operand& x);  ///< ±inf of ±1, NaN beyond; Giles' polynomials in f32, as in JAX
Array floor(const Operand& x);
Array ceil(const Operand& x);
/// Half to even, as jnp.round.
Array round(const Operand& x);
Array is_finite(const Operand& x);         ///< pred: neither NaN nor infinite
Array isnan(const Operand& x);             ///< pred
Array population_count(const Operand& x);  ///< bits that are set; integers only
Array clz(const Operand& x);               ///< leading zero bits; the width for 0; integers only

Array bitwise_and(const Operand& x, const Operand& y);  ///< these three: integers or pred
Array bitwise_or(const Operand& x, const Operand& y);
Array bitwise_xor(const Operand& x, const Operand& y);
Array bitwise_not(const Operand& x);
Array logical_and(const Operand& x, const Operand& y);  ///< these three: pred; numbers are compared with 0
Array logical_or(const Operand& x, const Operand& y);
Array logical_not(const Operand& x);
Array shift_left(const Operand& x, const Operand& y);              ///< 0 for counts of the width or more (S-E9)
Array shift_right_arithmetic(const Operand& x, const Operand& y);  ///< copies of the sign for counts ≥ width
Array shift_right_logical(const Operand& x, const Operand& y);     ///< 0 for counts of the width or more

/// pred results. NaN compares false except in `not_equal`.
Array equal(const Operand& x, const Operand& y);
Array not_equal(const Operand& x, const Operand& y);
Array less(const Operand& x, const Operand& y);
Array less_equal(const Operand& x, const Operand& y);
Array greater(const Operand& x, const Operand& y);
Array greater_equal(const Operand& x, const Operand& y);

/// condition ? x : y, all broadcast; numbers as condition are compared with 0. x and y are promoted.
Array where(const Operand& condition, const Operand& x, const Operand& y);
Array clip(const Operand& x, const Operand& low, const Operand& high);  ///< min(max(x, low), high)

/// x, without a derivative (I5).
Array stop_gradient(const Operand& x);
/// x. Error SM6402 in kernels and in traced functions: a TPU kernel has no barrier for its compiler.
Array optimization_barrier(const Operand& x);

/// Conversion of values; float to integer rounds towards 0 and saturates, NaN gives 0.
Array astype(const Operand& x, DType dtype);
/// The bits of x as another dtype of the same width. Error SM6306: another width (`bitcast` in tpu.h packs rows).
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
