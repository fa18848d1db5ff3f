#include "Exact.h"

#include <algorithm>
#include <cmath>

namespace {

constexpr double kPi = 3.14159265358979323846;

/// Newton on erf from a guess that is good to a few digits (Winitzki).
double erfInv(double x) {
  if (!(std::fabs(x) < 1)) return std::fabs(x) == 1 ? std::copysign(INFINITY, x) : NAN;
  const double a = std::fabs(x), l = std::log1p(-a * a), b = 2 / (kPi * 0.147) + l / 2;
  double y = std::sqrt(std::sqrt(b * b - l / 0.147) - b);
  if (a < 1e-5) return x * (std::sqrt(kPi) / 2) * (1 + kPi / 12 * x * x);
  for (int i = 0; i < 4; ++i) {
    const double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    y -= error / (2 / std::sqrt(kPi) * std::exp(-y * y));
  }
  return std::copysign(y, x);
}

constexpr ExactFunction kFunctions[] = {
    {"chlo.erf_inv", erfInv, -1, 1},
    {"math.acos", [](double x) { return std::acos(x); }, -1, 1},
    {"math.acosh", [](double x) { return std::acosh(x); }, 1, 100},
    {"math.asin", [](double x) { return std::asin(x); }, -1, 1},
    {"math.asinh", [](double x) { return std::asinh(x); }, -5, 5},
    {"math.atan", [](double x) { return std::atan(x); }, -5, 5},
    {"math.atanh", [](double x) { return std::atanh(x); }, -1, 1},
    {"math.cbrt", [](double x) { return std::cbrt(x); }, -5, 5},
    {"math.cos", [](double x) { return std::cos(x); }, -5, 5},
    {"math.cosh", [](double x) { return std::cosh(x); }, -5, 5},
    {"math.erf", [](double x) { return std::erf(x); }, -5, 5},
    {"math.erfc", [](double x) { return std::erfc(x); }, -5, 5},
    {"math.exp", [](double x) { return std::exp(x); }, -20, 20},
    {"math.exp2", [](double x) { return std::exp2(x); }, -20, 20},
    {"math.expm1", [](double x) { return std::expm1(x); }, -20, 20},
    {"math.log", [](double x) { return std::log(x); }, 0, 100},
    {"math.log10", [](double x) { return std::log10(x); }, 0, 100},
    {"math.log1p", [](double x) { return std::log1p(x); }, 0, 100},
    {"math.log2", [](double x) { return std::log2(x); }, 0, 100},
    {"math.rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0, 100},
    {"math.sin", [](double x) { return std::sin(x); }, -5, 5},
    {"math.sinh", [](double x) { return std::sinh(x); }, -5, 5},
    {"math.tan", [](double x) { return std::tan(x); }, -5, 5},
    {"math.tanh", [](double x) { return std::tanh(x); }, -5, 5},
};

constexpr ExactBinaryFunction kBinary[] = {
    {"math.atan2", [](double y, double x) { return std::atan2(y, x); }, [](float&, float&) {}},
    {"math.powf", [](double x, double y) { return std::pow(x, y); },
     [](float& x, float& y) {
       x = std::fabs(x);
       y = static_cast<float>(140 * std::sin(y) / std::max(std::fabs(std::log2(x)), 1e-6f));
     }},
};

}  // namespace

std::span<const ExactFunction> exactFunctions() { return kFunctions; }

std::span<const ExactBinaryFunction> exactBinaryFunctions() { return kBinary; }
