// Complex numbers: construction, parts, element-wise ops, and products by parts.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>

#include "eval/Elementwise.h"
#include "plain/ComplexNumbers.h"
#include "plain/PlainEvaluators.h"

namespace smalti::plain {
namespace {

/// The op's name → its function.
template <class Real>
struct Functions {
  using Number = std::complex<Real>;
  struct Unary {
    std::string_view op;
    void (*run)(const Number* x, Number* to, int64_t n);
  };
  struct Binary {
    std::string_view op;
    void (*run)(const Number* x, const Number* y, Number* to, int64_t n);
  };
  /// The function as a loop into which it is inlined.
  template <class F>
  static constexpr Unary loop(std::string_view op, F) {
    return {op, [](const Number* x, Number* to, int64_t n) {
              for (int64_t i = 0; i < n; ++i) to[i] = F()(x[i]);
            }};
  }
  template <class F>
  static constexpr Binary pairs(std::string_view op, F) {
    return {op, [](const Number* x, const Number* y, Number* to, int64_t n) {
              for (int64_t i = 0; i < n; ++i) to[i] = F()(x[i], y[i]);
            }};
  }
  static constexpr Real kOne = 1;
  /// exp(x) - 1, accurate near 0.
  static Number expm1(Number x) {
    const Real a = x.real(), b = x.imag(), half = std::sin(b / 2);
    return {std::expm1(a) * std::cos(b) - 2 * half * half, std::exp(a) * std::sin(b)};
  }
  static Number log1p(Number x) {
    const Real a = x.real(), b = x.imag();
    // |1 + x|² - 1 = a (2 + a) + b²: near 0 nothing is lost.
    const bool near = std::abs(a) < Real(0.5) && std::abs(b) < Real(0.5);
    const Real re = near ? std::log1p(a * (2 + a) + b * b) / 2 : std::log(std::hypot(1 + a, b));
    return {re, std::atan2(b, 1 + a)};
  }
  static Number multiply(Number x, Number y) { return product(x, y); }
  static Number sign(Number x) { return x == Number(0) ? x : x / std::abs(x); }

  static constexpr Unary kUnary[] = {
      loop("acos", [](Number x) { return std::acos(x); }),
      loop("acosh", [](Number x) { return std::acosh(x); }),
      loop("asin", [](Number x) { return std::asin(x); }),
      loop("asinh", [](Number x) { return std::asinh(x); }),
      loop("atan", [](Number x) { return std::atan(x); }),
      loop("atanh", [](Number x) { return std::atanh(x); }),
      loop("cosh", [](Number x) { return std::cosh(x); }),
      loop("cosine", [](Number x) { return std::cos(x); }),
      loop("exponential", [](Number x) { return std::exp(x); }),
      loop("exponential_minus_one", [](Number x) { return expm1(x); }),
      loop("log", [](Number x) { return std::log(x); }),
      loop("log_plus_one", [](Number x) { return log1p(x); }),
      loop("logistic", [](Number x) { return kOne / (kOne + std::exp(-x)); }),
      loop("negate", [](Number x) { return -x; }),
      loop("rsqrt", [](Number x) { return kOne / std::sqrt(x); }),
      loop("sign", [](Number x) { return sign(x); }),
      loop("sine", [](Number x) { return std::sin(x); }),
      loop("sinh", [](Number x) { return std::sinh(x); }),
      loop("sqrt", [](Number x) { return std::sqrt(x); }),
      loop("square", [](Number x) { return multiply(x, x); }),
      loop("tan", [](Number x) { return std::tan(x); }),
      loop("tanh", [](Number x) { return std::tanh(x); }),
  };
  static constexpr Binary kBinary[] = {
      pairs("add", [](Number x, Number y) { return x + y; }),
      pairs("divide", [](Number x, Number y) { return x / y; }),
      pairs("multiply", [](Number x, Number y) { return multiply(x, y); }),
      pairs("power", [](Number x, Number y) { return std::pow(x, y); }),
      pairs("subtract", [](Number x, Number y) { return x - y; }),
  };

  static PlainResults unary(PlainCall& call) {
    const Array& in = call.operands[0];
    if (call.op.name == "abs") return absolute(call);
    for (const Unary& row : kUnary)
      if (row.op == call.op.name) {
        auto result = Array::allocate(call.results[0]);
        if (!result) return fail(std::move(result.error()));
        row.run(in.as<Number>(), result->template as<Number>(), in.elements());
        return one(std::move(*result));
      }
    return fail(noEvaluation(call, in.dtype()));
  }

  static PlainResults absolute(PlainCall& call) {
    const Array& in = call.operands[0];
    auto result = Array::allocate(call.results[0]);
    if (!result) return fail(std::move(result.error()));
    for (int64_t i = 0; i < in.elements(); ++i)
      result->template as<Real>()[i] = std::hypot(in.as<Number>()[i].real(), in.as<Number>()[i].imag());
    return one(std::move(*result));
  }

  static PlainResults binary(PlainCall& call) {
    const Array &x = call.operands[0], &y = call.operands[1];
    for (const Binary& row : kBinary)
      if (row.op == call.op.name) {
        auto result = Array::allocate(call.results[0]);
        if (!result) return fail(std::move(result.error()));
        row.run(x.as<Number>(), y.as<Number>(), result->template as<Number>(), x.elements());
        return one(std::move(*result));
      }
    return fail(noEvaluation(call, x.dtype()));
  }

  static PlainResults compare(PlainCall& call) {
    const Array &x = call.operands[0], &y = call.operands[1];
    const std::string_view direction = call.typed().text("comparison_direction");
    if (direction != "EQ" && direction != "NE") return fail(noEvaluation(call, x.dtype()));
    auto result = Array::allocate(call.results[0]);
    if (!result) return fail(std::move(result.error()));
    for (int64_t i = 0; i < x.elements(); ++i)
      result->template as<uint8_t>()[i] = (x.as<Number>()[i] == y.as<Number>()[i]) == (direction == "EQ");
    return one(std::move(*result));
  }
};

template <class Fn>
auto withParts(DType t, Fn&& fn) {
  return part_of(t) == DType::f64 ? fn.template operator()<double>() : fn.template operator()<float>();
}

PlainResults makeComplex(PlainCall& call) {
  auto result = complexOf(call.operands[0], call.operands[1]);
  if (!result) return fail(std::move(result.error()));
  return one(std::move(*result));
}

PlainResults takePart(PlainCall& call) {
  auto result = partOf(call.operands[0], call.op.name == "imag");
  if (!result) return fail(std::move(result.error()));
  return one(std::move(*result));
}

constexpr std::array kComplexEvaluators{
    EvaluatorRow{"complex", makeComplex},
    EvaluatorRow{"imag", takePart},
    EvaluatorRow{"real", takePart},
};

}  // namespace

PlainResults complexUnary(PlainCall& call) {
  return withParts(call.operands[0].dtype(), [&]<class Real>() { return Functions<Real>::unary(call); });
}
PlainResults complexBinary(PlainCall& call) {
  return withParts(call.operands[0].dtype(), [&]<class Real>() { return Functions<Real>::binary(call); });
}
PlainResults complexCompare(PlainCall& call) {
  return withParts(call.operands[0].dtype(), [&]<class Real>() { return Functions<Real>::compare(call); });
}

Result<Array> partOf(const Array& array, bool imaginary) {
  if (!is_complex(array.dtype()) && !imaginary) return array;
  auto part = Array::allocate({part_of(array.dtype()), array.shape()});
  if (!part) return part;
  if (!is_complex(array.dtype())) {
    std::fill_n(part->data(), part->bytes(), std::byte{0});
    return part;
  }
  withParts(array.dtype(), [&]<class Real>() {
    for (int64_t i = 0; i < array.elements(); ++i) part->as<Real>()[i] = array.as<Real>()[2 * i + (imaginary ? 1 : 0)];
  });
  return part;
}

Result<Array> complexOf(const Array& real, const Array& imaginary) {
  const DType t = real.dtype() == DType::f64 ? DType::c128 : DType::c64;
  auto array = Array::allocate({t, real.shape()});
  if (!array) return array;
  withParts(t, [&]<class Real>() {
    for (int64_t i = 0; i < real.elements(); ++i) {
      array->as<Real>()[2 * i] = real.as<Real>()[i];
      array->as<Real>()[2 * i + 1] = imaginary.as<Real>()[i];
    }
  });
  return array;
}

/// Real numbers get the imaginary part 0; real results are the real part; bool results compare with 0.
Result<Array> complexConverted(const Array& from, DType to) {
  const auto step = [](Result<Array> array, const auto& next) { return array ? next(*array) : array; };
  if (to == DType::pred) {
    auto result = Array::allocate({to, from.shape()});
    if (!result) return result;
    withParts(from.dtype(), [&]<class Real>() {
      for (int64_t i = 0; i < from.elements(); ++i)
        result->as<uint8_t>()[i] = from.as<Real>()[2 * i] != 0 || from.as<Real>()[2 * i + 1] != 0;
    });
    return result;
  }
  const auto part = [&](bool imaginary) {
    return step(partOf(from, imaginary),
                [&](const Array& a) { return converted(a, is_complex(to) ? part_of(to) : to); });
  };
  auto real = part(false);
  if (!real || !is_complex(to)) return real;
  return step(is_complex(from.dtype()) ? part(true) : partOf(*real, true),
              [&](const Array& imaginary) { return complexOf(*real, imaginary); });
}

PlainResults complexConvert(PlainCall& call) {
  return oneOf(complexConverted(call.operands[0], call.results[0].dtype));
}

PlainResults complexProduct(PlainCall& call, const Product& multiply) {
  const ArrayType real{part_of(call.results[0].dtype), call.results[0].shape};
  std::array<Array, 2> lhs, rhs, result;
  for (const bool imaginary : {false, true}) {
    auto l = partOf(call.operands[0], imaginary), r = partOf(call.operands[1], imaginary), p = Array::allocate(real);
    if (!l || !r || !p) return fail(std::move(!l ? l.error() : !r ? r.error() : p.error()));
    lhs[imaginary] = std::move(*l);
    rhs[imaginary] = std::move(*r);
    result[imaginary] = std::move(*p);
  }
  auto sum = Array::allocate(real);
  auto negated = lhs[1].clone();
  if (!sum || !negated) return fail(std::move(sum ? negated.error() : sum.error()));
  eval::findUnary("arith.negf", real.dtype)(lhs[1].data(), negated->data(), negated->elements());
  const int64_t zero = 0;
  const eval::Input nothing{reinterpret_cast<const std::byte*>(&zero), real.dtype, real.shape, true};
  const auto accumulate = [&](const Array& a, const Array& b, const Array& c, const Array& d, Array& to) {
    return multiply(in(a), in(b), nothing, out(*sum)) && multiply(in(c), in(d), in(*sum), out(to));
  };
  if (num_elements(real.shape) > 0 && (!accumulate(lhs[0], rhs[0], *negated, rhs[1], result[0]) ||
                                       !accumulate(lhs[0], rhs[1], lhs[1], rhs[0], result[1])))
    return fail(noEvaluation(call, call.operands[0].dtype()));
  auto whole = complexOf(result[0], result[1]);
  if (!whole) return fail(std::move(whole.error()));
  return one(std::move(*whole));
}

std::span<const EvaluatorRow> complexEvaluators() { return kComplexEvaluators; }

}  // namespace smalti::plain
