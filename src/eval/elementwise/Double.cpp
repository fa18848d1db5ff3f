#include "eval/elementwise/Double.h"

#include <cmath>

namespace smalti::eval {
namespace {

template <auto f>
void unary(const void* in, void* out, int64_t n) {
  const double* x = static_cast<const double*>(in);
  double* y = static_cast<double*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

template <auto f, class Result = double>
void binary(const void* a, const void* b, void* out, int64_t n, Splat splat) {
  const double* x = static_cast<const double*>(a);
  const double* y = static_cast<const double*>(b);
  Result* z = static_cast<Result*>(out);
  const int64_t xStep = splat != Splat::lhs, yStep = splat != Splat::rhs;
  const double left = n > 0 ? x[0] : 0, right = n > 0 ? y[0] : 0;
  for (int64_t i = 0; i < n; ++i) z[i] = f(xStep ? x[i] : left, yStep ? y[i] : right);
}

template <auto F>
void test(const void* in, void* out, int64_t n) {
  const double* x = static_cast<const double*>(in);
  for (int64_t i = 0; i < n; ++i) static_cast<uint8_t*>(out)[i] = F(x[i]);
}

double maximum(double a, double b) {
  if (a != a || b != b) return a + b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
double minimum(double a, double b) { return -maximum(-a, -b); }

/// By Newton's method: of erf in the middle, and in the tails of log erfc, which is nearly a parabola.
double erfInverse(double x) {
  constexpr double kMiddle = 0.75, kSlope = 1.1283791670955126, kPi = 3.141592653589793;  // kSlope: 2 / sqrt(pi)
  const double a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? x / 0.0 : std::nan("");
  // S. Winitzki, A handy approximation for the error function and its inverse (2008): within 0.2 %.
  const double log = std::log1p(-a * a), half = 2 / (kPi * 0.147) + log / 2;
  double y = std::sqrt(std::sqrt(half * half - log / 0.147) - half);
  constexpr int kSteps = 4;  // quadratic: 2e-3 → 4e-6 → 2e-11 → rounding
  for (int step = 0; step < kSteps; ++step) {
    const double slope = kSlope * std::exp(-y * y);
    if (a < kMiddle) {
      y -= (std::erf(y) - a) / slope;
    } else {
      const double rest = std::erfc(y);
      y += std::log(rest / (1 - a)) * rest / slope;
    }
  }
  return std::copysign(y, x);
}

struct UnaryEntry {
  std::string_view name;
  UnaryKernel kernel;
};
struct BinaryEntry {
  std::string_view name;
  BinaryKernel kernel;
};

constexpr UnaryEntry kUnary[] = {
    {"arith.negf", unary<[](double x) { return -x; }>},
    {"chlo.erf_inv", unary<erfInverse>},
    {"math.absf", unary<[](double x) { return std::fabs(x); }>},
    {"math.acos", unary<[](double x) { return std::acos(x); }>},
    {"math.acosh", unary<[](double x) { return std::acosh(x); }>},
    {"math.asin", unary<[](double x) { return std::asin(x); }>},
    {"math.asinh", unary<[](double x) { return std::asinh(x); }>},
    {"math.atan", unary<[](double x) { return std::atan(x); }>},
    {"math.atanh", unary<[](double x) { return std::atanh(x); }>},
    {"math.cbrt", unary<[](double x) { return std::cbrt(x); }>},
    {"math.ceil", unary<[](double x) { return std::ceil(x); }>},
    {"math.cos", unary<[](double x) { return std::cos(x); }>},
    {"math.cosh", unary<[](double x) { return std::cosh(x); }>},
    {"math.erf", unary<[](double x) { return std::erf(x); }>},
    {"math.erfc", unary<[](double x) { return std::erfc(x); }>},
    {"math.exp", unary<[](double x) { return std::exp(x); }>},
    {"math.exp2", unary<[](double x) { return std::exp2(x); }>},
    {"math.expm1", unary<[](double x) { return std::expm1(x); }>},
    {"math.floor", unary<[](double x) { return std::floor(x); }>},
    {"math.log", unary<[](double x) { return std::log(x); }>},
    {"math.log10", unary<[](double x) { return std::log10(x); }>},
    {"math.log1p", unary<[](double x) { return std::log1p(x); }>},
    {"math.log2", unary<[](double x) { return std::log2(x); }>},
    {"math.round", unary<[](double x) { return std::round(x); }>},
    {"math.roundeven", unary<[](double x) { return std::nearbyint(x); }>},
    {"math.rsqrt", unary<[](double x) { return 1 / std::sqrt(x); }>},
    {"math.sin", unary<[](double x) { return std::sin(x); }>},
    {"math.sinh", unary<[](double x) { return std::sinh(x); }>},
    {"math.sqrt", unary<[](double x) { return std::sqrt(x); }>},
    {"math.tan", unary<[](double x) { return std::tan(x); }>},
    {"math.tanh", unary<[](double x) { return std::tanh(x); }>},
    {"math.trunc", unary<[](double x) { return std::trunc(x); }>},
    {"tpu.reciprocal", unary<[](double x) { return 1 / x; }>},
    {"math.isfinite", test<[](double x) { return std::isfinite(x); }>},
    {"math.isinf", test<[](double x) { return std::isinf(x); }>},
    {"math.isnan", test<[](double x) { return std::isnan(x); }>},
    {"tpu.weird", test<[](double x) { return !std::isfinite(x); }>},
};

constexpr BinaryEntry kBinary[] = {
    {"arith.addf", binary<[](double a, double b) { return a + b; }>},
    {"arith.subf", binary<[](double a, double b) { return a - b; }>},
    {"arith.mulf", binary<[](double a, double b) { return a * b; }>},
    {"arith.divf", binary<[](double a, double b) { return a / b; }>},
    {"arith.remf", binary<[](double a, double b) { return std::fmod(a, b); }>},
    {"arith.maximumf", binary<maximum>},
    {"arith.minimumf", binary<minimum>},
    {"arith.maxnumf", binary<[](double a, double b) { return a != a   ? b
                                                             : b != b ? a
                                                                      : maximum(a, b); }>},
    {"arith.minnumf", binary<[](double a, double b) { return a != a   ? b
                                                             : b != b ? a
                                                                      : minimum(a, b); }>},
    {"math.atan2", binary<[](double a, double b) { return std::atan2(a, b); }>},
    {"math.copysign", binary<[](double a, double b) { return std::copysign(a, b); }>},
    {"math.powf", binary<[](double a, double b) { return std::pow(a, b); }>},
    {"arith.cmpf.false", binary<[](double, double) { return false; }, uint8_t>},
    {"arith.cmpf.oeq", binary<[](double a, double b) { return a == b; }, uint8_t>},
    {"arith.cmpf.ogt", binary<[](double a, double b) { return b < a; }, uint8_t>},
    {"arith.cmpf.oge", binary<[](double a, double b) { return b <= a; }, uint8_t>},
    {"arith.cmpf.olt", binary<[](double a, double b) { return a < b; }, uint8_t>},
    {"arith.cmpf.ole", binary<[](double a, double b) { return a <= b; }, uint8_t>},
    {"arith.cmpf.one", binary<[](double a, double b) { return a != b; }, uint8_t>},
    {"arith.cmpf.ord", binary<[](double a, double b) { return a == a && b == b; }, uint8_t>},
    {"arith.cmpf.ueq", binary<[](double a, double b) { return !(a < b || b < a); }, uint8_t>},
    {"arith.cmpf.ugt", binary<[](double a, double b) { return !(a <= b); }, uint8_t>},
    {"arith.cmpf.uge", binary<[](double a, double b) { return !(a < b); }, uint8_t>},
    {"arith.cmpf.ult", binary<[](double a, double b) { return !(b <= a); }, uint8_t>},
    {"arith.cmpf.ule", binary<[](double a, double b) { return !(b < a); }, uint8_t>},
    {"arith.cmpf.une", binary<[](double a, double b) { return a != b; }, uint8_t>},
    {"arith.cmpf.uno", binary<[](double a, double b) { return a != a || b != b; }, uint8_t>},
    {"arith.cmpf.true", binary<[](double, double) { return true; }, uint8_t>},
};

}  // namespace

UnaryKernel doubleUnary(std::string_view name) {
  for (const UnaryEntry& row : kUnary)
    if (row.name == name) return row.kernel;
  return nullptr;
}

BinaryKernel doubleBinary(std::string_view name) {
  for (const BinaryEntry& row : kBinary)
    if (row.name == name) return row.kernel;
  return nullptr;
}

}  // namespace smalti::eval
