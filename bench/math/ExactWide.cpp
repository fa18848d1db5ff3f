// SLEEF in double precision: within 1 or 1.5 ulp of double.
#include "ExactWide.h"

#ifdef __AVX512F__
#include <sleef.h>

#include <algorithm>
#include <iterator>

namespace {

template <auto kFunction>
void run(const double* x, double* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 8) _mm512_storeu_pd(y + i, kFunction(_mm512_loadu_pd(x + i)));
}

/// As in Exact.cpp.
__m512d erfInv(__m512d x) {
  constexpr double kPi = 3.14159265358979323846;
  const __m512d a = _mm512_abs_pd(x), one = _mm512_set1_pd(1);
  const __m512d l = Sleef_log1pd8_u10avx512f(-a * a), b = 2 / (kPi * 0.147) + l / 2;
  __m512d y = _mm512_sqrt_pd(_mm512_sqrt_pd(b * b - l / 0.147) - b);
  const __mmask8 isMiddle = _mm512_cmp_pd_mask(a, _mm512_set1_pd(0.5), _CMP_LT_OQ);
  for (int i = 0; i < 4; ++i) {
    const __m512d middle = Sleef_erfd8_u10avx512f(y) - a, tail = (one - a) - Sleef_erfcd8_u15avx512f(y);
    const __m512d error = _mm512_mask_blend_pd(isMiddle, tail, middle);
    y -= error * Sleef_expd8_u10avx512f(y * y) * 0.88622692545275801;
  }
  const __mmask8 isSmall = _mm512_cmp_pd_mask(a, _mm512_set1_pd(1e-5), _CMP_LT_OQ);
  y = _mm512_mask_blend_pd(isSmall, y, a * 0.88622692545275801 * (one + kPi / 12 * a * a));
  const __mmask8 isEnd = _mm512_cmp_pd_mask(a, one, _CMP_EQ_OQ), isOutside = _mm512_cmp_pd_mask(a, one, _CMP_NLE_UQ);
  y = _mm512_mask_blend_pd(isEnd, y, _mm512_set1_pd(__builtin_inf()));
  y = _mm512_mask_blend_pd(isOutside, y, _mm512_set1_pd(__builtin_nan("")));
  return Sleef_copysignd8_avx512f(y, x);
}

__m512d rsqrt(__m512d x) { return 1 / _mm512_sqrt_pd(x); }

struct Row {
  std::string_view name;
  WideFunction* of;
};
constexpr Row kRows[] = {
    {"chlo.erf_inv", run<erfInv>},
    {"math.rsqrt", run<rsqrt>},
    {"math.acos", run<Sleef_acosd8_u10avx512f>},
    {"math.acosh", run<Sleef_acoshd8_u10avx512f>},
    {"math.asin", run<Sleef_asind8_u10avx512f>},
    {"math.asinh", run<Sleef_asinhd8_u10avx512f>},
    {"math.atan", run<Sleef_atand8_u10avx512f>},
    {"math.atanh", run<Sleef_atanhd8_u10avx512f>},
    {"math.cbrt", run<Sleef_cbrtd8_u10avx512f>},
    {"math.cos", run<Sleef_cosd8_u10avx512f>},
    {"math.cosh", run<Sleef_coshd8_u10avx512f>},
    {"math.erf", run<Sleef_erfd8_u10avx512f>},
    {"math.erfc", run<Sleef_erfcd8_u15avx512f>},
    {"math.exp", run<Sleef_expd8_u10avx512f>},
    {"math.exp2", run<Sleef_exp2d8_u10avx512f>},
    {"math.expm1", run<Sleef_expm1d8_u10avx512f>},
    {"math.log", run<Sleef_logd8_u10avx512f>},
    {"math.log10", run<Sleef_log10d8_u10avx512f>},
    {"math.log1p", run<Sleef_log1pd8_u10avx512f>},
    {"math.log2", run<Sleef_log2d8_u10avx512f>},
    {"math.sin", run<Sleef_sind8_u10avx512f>},
    {"math.sinh", run<Sleef_sinhd8_u10avx512f>},
    {"math.tan", run<Sleef_tand8_u10avx512f>},
    {"math.tanh", run<Sleef_tanhd8_u10avx512f>},
};

}  // namespace

WideFunction* wideFunction(std::string_view name) {
  if (!__builtin_cpu_supports("avx512f")) return nullptr;
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.name == name; });
  return row == std::end(kRows) ? nullptr : row->of;
}
#else
WideFunction* wideFunction(std::string_view) { return nullptr; }
#endif
