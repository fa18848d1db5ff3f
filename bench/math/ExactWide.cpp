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

struct Row {
  std::string_view name;
  WideFunction* of;
};
constexpr Row kRows[] = {
    {"math.acos", run<Sleef_acosd8_u10avx512f>},   {"math.acosh", run<Sleef_acoshd8_u10avx512f>},
    {"math.asin", run<Sleef_asind8_u10avx512f>},   {"math.asinh", run<Sleef_asinhd8_u10avx512f>},
    {"math.atan", run<Sleef_atand8_u10avx512f>},   {"math.atanh", run<Sleef_atanhd8_u10avx512f>},
    {"math.cbrt", run<Sleef_cbrtd8_u10avx512f>},   {"math.cos", run<Sleef_cosd8_u10avx512f>},
    {"math.cosh", run<Sleef_coshd8_u10avx512f>},   {"math.erf", run<Sleef_erfd8_u10avx512f>},
    {"math.erfc", run<Sleef_erfcd8_u15avx512f>},   {"math.exp", run<Sleef_expd8_u10avx512f>},
    {"math.exp2", run<Sleef_exp2d8_u10avx512f>},   {"math.expm1", run<Sleef_expm1d8_u10avx512f>},
    {"math.log", run<Sleef_logd8_u10avx512f>},     {"math.log10", run<Sleef_log10d8_u10avx512f>},
    {"math.log1p", run<Sleef_log1pd8_u10avx512f>}, {"math.log2", run<Sleef_log2d8_u10avx512f>},
    {"math.sin", run<Sleef_sind8_u10avx512f>},     {"math.sinh", run<Sleef_sinhd8_u10avx512f>},
    {"math.tan", run<Sleef_tand8_u10avx512f>},     {"math.tanh", run<Sleef_tanhd8_u10avx512f>},
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
