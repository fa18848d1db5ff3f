// Special functions of chlo, in f64 and rounded once, and next_after.
#include <array>
#include <cmath>
#include <limits>

#include "eval/FloatFormats.h"
#include "plain/PlainEvaluators.h"

namespace smalti::plain {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = 3.141592653589793;
/// Bernoulli's numbers B₂, B₄, …
constexpr std::array kBernoulli{1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,     5.0 / 66,
                                -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};
/// From here on the asymptotic series with these numbers are exact to rounding.
constexpr double kAsymptotic = 12;

double logGamma(double x) { return std::lgamma(x); }

/// By reflection, recurrence and its asymptotic series (DLMF 5.5.2, 5.5.4, 5.11.2).
double digamma(double x) {
  if (x <= 0 && x == std::floor(x)) return kNan;
  if (x < 0) return digamma(1 - x) - kPi / std::tan(kPi * (x - std::floor(x)));
  double sum = 0;
  for (; x < kAsymptotic; ++x) sum -= 1 / x;
  double power = 1;
  for (size_t k = 0; k < kBernoulli.size(); ++k) {
    power /= x * x;
    sum -= kBernoulli[k] / (2.0 * static_cast<double>(k) + 2) * power;
  }
  return sum + std::log(x) - 0.5 / x;
}

/// Hurwitz's zeta function, by Euler's and Maclaurin's sum (DLMF 25.11.28).
double zeta(double s, double q) {
  if (s == 1) return kInfinity;
  if (!(s > 1) || std::isnan(q)) return kNan;
  if (q <= 0 && q == std::floor(q)) return kInfinity;
  if (q <= 0 && s != std::floor(s)) return kNan;
  double sum = 0;
  constexpr int kMaxSteps = 10'000;  // far below 0, the series is as good as JAX's own, which takes nine
  for (int step = 0; q < kAsymptotic && step < kMaxSteps; ++step, ++q) sum += std::pow(q, -s);
  double power = std::pow(q, -s);
  sum += power * q / (s - 1) + power / 2;
  double factor = s / 2;
  power /= q;
  for (size_t k = 0; k < kBernoulli.size(); ++k) {
    sum += kBernoulli[k] * factor * power;
    const double n = 2 * static_cast<double>(k) + 2;
    factor *= (s + n - 1) * (s + n) / ((n + 1) * (n + 2));
    power /= q * q;
  }
  return sum;
}

double polygamma(double n, double x) {
  if (n == 0) return digamma(x);
  if (!(n > 0) || n != std::floor(n)) return kNan;
  return (std::fmod(n, 2) == 0 ? -1 : 1) * std::exp(std::lgamma(n + 1)) * zeta(n + 1, x);
}

/// exp(-|x|) I₁(x): from 50 on by its asymptotic series (DLMF 10.40.1).
double besselI1e(double x) {
  const double a = std::fabs(x);
  constexpr double kLarge = 50;
  if (std::isnan(x)) return x;
  if (a < kLarge) return std::copysign(std::cyl_bessel_i(1.0, a) * std::exp(-a), x);
  double sum = 1, term = 1;
  for (int k = 1; k <= 12; ++k) {
    term *= -(4.0 - (2.0 * k - 1) * (2.0 * k - 1)) / (k * 8 * a);
    sum += term;
  }
  return std::copysign(sum / std::sqrt(2 * kPi * a), x);
}

template <auto f>
PlainResults unaryFunction(PlainCall& call) {
  const Array& x = call.operands[0];
  auto result = resultArray(call, 0, true);
  if (!result) return fail(std::move(result.error()));
  const int64_t bytes = storage_bytes(x.dtype());
  for (int64_t at = 0; at < x.bytes(); at += bytes)
    eval::elementFromDouble(x.dtype(), f(eval::elementAsDouble(x.dtype(), x.data() + at)), result->data() + at);
  return one(std::move(*result));
}

template <auto f>
PlainResults binaryFunction(PlainCall& call) {
  const Array &x = call.operands[0], &y = call.operands[1];
  auto result = resultArray(call);
  if (!result) return fail(std::move(result.error()));
  const int64_t bytes = storage_bytes(x.dtype());
  for (int64_t at = 0; at < x.bytes(); at += bytes)
    eval::elementFromDouble(
        x.dtype(), f(eval::elementAsDouble(x.dtype(), x.data() + at), eval::elementAsDouble(y.dtype(), y.data() + at)),
        result->data() + at);
  return one(std::move(*result));
}

/// The element's bits, counted up or down, are its neighbours.
template <class Word>
void nextAfter(DType t, const Word* x, const Word* y, Word* to, int64_t n) {
  constexpr Word kSign = static_cast<Word>(Word{1} << (sizeof(Word) * 8 - 1));
  for (int64_t i = 0; i < n; ++i) {
    const double from = eval::elementAsDouble(t, reinterpret_cast<const std::byte*>(x + i)),
                 towards = eval::elementAsDouble(t, reinterpret_cast<const std::byte*>(y + i));
    if (std::isnan(from) || from == towards)
      to[i] = std::isnan(from) ? x[i] : y[i];
    else if (std::isnan(towards))
      to[i] = y[i];
    else if (from == 0)
      to[i] = static_cast<Word>((y[i] & kSign) | 1);
    else
      to[i] = static_cast<Word>((from < towards) == (from > 0) ? x[i] + 1 : x[i] - 1);
  }
}

PlainResults nextAfterOf(PlainCall& call) {
  const Array &x = call.operands[0], &y = call.operands[1];
  auto result = resultArray(call);
  if (!result) return fail(std::move(result.error()));
  const auto run = [&]<class Word>() {
    nextAfter(x.dtype(), x.as<Word>(), y.as<Word>(), result->as<Word>(), x.elements());
  };
  switch (x.dtype()) {
    case DType::bf16:
    case DType::f16:
      run.operator()<uint16_t>();
      break;
    case DType::f32:
      run.operator()<uint32_t>();
      break;
    case DType::f64:
      run.operator()<uint64_t>();
      break;
    default:
      return fail(noEvaluation(call, x.dtype()));
  }
  return one(std::move(*result));
}

constexpr std::array kSpecialFunctionEvaluators{
    EvaluatorRow{"bessel_i1e", unaryFunction<besselI1e>}, EvaluatorRow{"digamma", unaryFunction<digamma>},
    EvaluatorRow{"lgamma", unaryFunction<logGamma>},      EvaluatorRow{"next_after", nextAfterOf},
    EvaluatorRow{"polygamma", binaryFunction<polygamma>}, EvaluatorRow{"zeta", binaryFunction<zeta>},
};

}  // namespace

std::span<const EvaluatorRow> specialFunctionEvaluators() { return kSpecialFunctionEvaluators; }

}  // namespace smalti::plain
