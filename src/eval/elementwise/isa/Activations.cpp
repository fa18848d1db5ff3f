// tanh, erf and erfc of f32: the activations of neural networks. SLEEF's take three to five times as long (measured on
// Zen 4 with AVX-512). Within 2 ulp.
#include "eval/MathCoefficients.h"
#include "eval/elementwise/isa/Families.h"

namespace smalti::eval::SMALTI_ISA {
namespace {

using namespace coefficients;

// Plain loops over one expression, which the compiler turns into vectors. Fused multiply-adds are not used: results do
// not depend on the machine.
#define SMALTI_INLINE [[gnu::always_inline]] inline

template <class T, int kCount>
SMALTI_INLINE T polynomial(T x, const T (&coefficients)[kCount]) {
  T p = coefficients[kCount - 1];
#pragma GCC unroll 16
  for (int i = kCount - 2; i >= 0; --i) p = p * x + coefficients[i];
  return p;
}

/// NaN stays.
template <class T>
SMALTI_INLINE T atMost(T x, T limit) {
  return x > limit ? limit : x;
}

/// 2^n, as the low bits of `rounded` = n + 1.5 · 2^23 + 127 say it.
SMALTI_INLINE float powerOfTwo(float rounded) {
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, rounded) << 23);
}
constexpr float kRound = 12582912.0f + 127.0f;

/// x + x³ P(x²) near 0; above, t / (t + 2) with t = e^(2x) - 1.
SMALTI_INLINE float tanhOf(float x) {
  const float a = __builtin_fabsf(x), square = a * a;
  const float small = a + a * square * polynomial(square, kTanh);
  // 2x log2 e = n + f, in parts whose first product is exact: 11 bits of 2x, and 13 of log2 e.
  constexpr float kHigh = 0x1.714p0f, kLow = kLog2OfE[0] - kHigh;
  const float twice = atMost(a + a, 20.0f);
  const float high = __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, twice) & 0xffffe000u);
  const float exponent = high * kHigh, rest = high * kLow + (twice - high) * kLog2OfE[0];
  const float rounded = exponent + kRound;
  const float f = (exponent - (rounded - kRound)) + rest;
  const float power = powerOfTwo(rounded);
  const float t = power * (polynomial(f, kExp2Short) * f) + (power - 1.0f);
  const float large = t / (t + 2.0f);
  return __builtin_copysignf(a < kTanhSplit ? small : large, x);
}

/// x + x P(x²) near 0; above, 1 - 2^-L(|x|), where 2^-L is below 0.19 and forgives its own error.
SMALTI_INLINE float erfOf(float x) {
  const float a = __builtin_fabsf(x);
  const float small = a + a * polynomial(a * a, kErf);
  const float exponent = -polynomial(atMost(a, 3.93f), kErfTail);
  const float rounded = exponent + kRound;
  const float f = exponent - (rounded - kRound);
  const float large = 1.0f - powerOfTwo(rounded) * (polynomial(f, kExp2Short) * f + 1.0f);
  return __builtin_copysignf(a < kErfSplit ? small : large, x);
}

/// e^(-x²) P((x - 4)/(x + 4)) / (1 + 2x) in double; 2 - erfc(-x) for negative x.
SMALTI_INLINE float erfcOf(float operand) {
  constexpr double kRoundDouble = 6755399441055744.0 + 1023.0;  // 1.5 · 2^52
  const double x = operand;
  const double a = atMost(__builtin_fabs(x), 10.1);
  const double one = a + a + 1.0, pole = a + 4.0;
  const double inverse = 1.0 / (one * pole);
  const double t = (a - 4.0) * one * inverse;
  const double exponent = a * a * -1.4426950408889634;
  const double rounded = exponent + kRoundDouble;
  const double f = exponent - (rounded - kRoundDouble);
  const double power = __builtin_bit_cast(double, __builtin_bit_cast(uint64_t, rounded) << 52);
  const double y = polynomial(f, kExp2Double) * power * (polynomial(t, kErfcDouble) * (pole * inverse));
  return static_cast<float>(x < 0.0 ? 2.0 - y : y);
}

template <float (*kFunction)(float)>
void each(const void* in, void* out, int64_t n) {
  const float* x = static_cast<const float*>(in);
  float* y = static_cast<float*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = kFunction(x[i]);
}

}  // namespace

void tanh(const void* in, void* out, int64_t n) { each<tanhOf>(in, out, n); }
void erf(const void* in, void* out, int64_t n) { each<erfOf>(in, out, n); }
void erfc(const void* in, void* out, int64_t n) { each<erfcOf>(in, out, n); }

}  // namespace smalti::eval::SMALTI_ISA
