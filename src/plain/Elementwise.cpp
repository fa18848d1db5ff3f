// Ops that work element by element. Most are one kernel of src/eval, chosen by dtype.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "eval/Bits.h"
#include "eval/Elementwise.h"
#include "eval/FloatFormats.h"
#include "eval/Shape.h"
#include "plain/PlainEvaluators.h"

namespace smalti::plain {
namespace {

/// The kernel of an op on floats, signed integers, unsigned integers and bool; empty: there is none.
struct KernelNames {
  std::string_view op, floating, signedInteger, unsignedInteger, boolean;
};

constexpr std::array kUnary{
    KernelNames{"abs", "math.absf", "math.absi", "", ""},
    KernelNames{"acos", "math.acos", "", "", ""},
    KernelNames{"acosh", "math.acosh", "", "", ""},
    KernelNames{"asin", "math.asin", "", "", ""},
    KernelNames{"asinh", "math.asinh", "", "", ""},
    KernelNames{"atan", "math.atan", "", "", ""},
    KernelNames{"atanh", "math.atanh", "", "", ""},
    KernelNames{"cbrt", "math.cbrt", "", "", ""},
    KernelNames{"ceil", "math.ceil", "", "", ""},
    KernelNames{"cosh", "math.cosh", "", "", ""},
    KernelNames{"cosine", "math.cos", "", "", ""},
    KernelNames{"count_leading_zeros", "", "math.ctlz", "math.ctlz", ""},
    KernelNames{"erf", "math.erf", "", "", ""},
    KernelNames{"erf_inv", "chlo.erf_inv", "", "", ""},
    KernelNames{"erfc", "math.erfc", "", "", ""},
    KernelNames{"exponential", "math.exp", "", "", ""},
    KernelNames{"exponential_minus_one", "math.expm1", "", "", ""},
    KernelNames{"floor", "math.floor", "", "", ""},
    KernelNames{"log", "math.log", "", "", ""},
    KernelNames{"log_plus_one", "math.log1p", "", "", ""},
    KernelNames{"negate", "arith.negf", "", "", ""},
    KernelNames{"popcnt", "", "math.ctpop", "math.ctpop", ""},
    KernelNames{"round_nearest_afz", "math.round", "", "", ""},
    KernelNames{"round_nearest_even", "math.roundeven", "", "", ""},
    KernelNames{"rsqrt", "math.rsqrt", "", "", ""},
    KernelNames{"sine", "math.sin", "", "", ""},
    KernelNames{"sinh", "math.sinh", "", "", ""},
    KernelNames{"sqrt", "math.sqrt", "", "", ""},
    KernelNames{"tan", "math.tan", "", "", ""},
    KernelNames{"tanh", "math.tanh", "", "", ""},
};
constexpr std::array kBinary{
    KernelNames{"add", "arith.addf", "arith.addi", "arith.addi", "arith.ori"},
    KernelNames{"and", "", "arith.andi", "arith.andi", "arith.andi"},
    KernelNames{"atan2", "math.atan2", "", "", ""},
    KernelNames{"divide", "arith.divf", "arith.divsi", "arith.divui", ""},
    KernelNames{"maximum", "arith.maximumf", "arith.maxsi", "arith.maxui", "arith.ori"},
    KernelNames{"minimum", "arith.minimumf", "arith.minsi", "arith.minui", "arith.andi"},
    KernelNames{"multiply", "arith.mulf", "arith.muli", "arith.muli", "arith.andi"},
    KernelNames{"or", "", "arith.ori", "arith.ori", "arith.ori"},
    KernelNames{"power", "math.powf", "math.ipowi", "math.ipowi", ""},
    KernelNames{"remainder", "arith.remf", "arith.remsi", "arith.remui", ""},
    KernelNames{"shift_left", "", "arith.shli", "arith.shli", ""},
    KernelNames{"shift_right_arithmetic", "", "arith.shrsi", "arith.shrsi", ""},
    KernelNames{"shift_right_logical", "", "arith.shrui", "arith.shrui", ""},
    KernelNames{"subtract", "arith.subf", "arith.subi", "arith.subi", "arith.xori"},
    KernelNames{"xor", "", "arith.xori", "arith.xori", "arith.xori"},
};

std::string_view kernelName(std::span<const KernelNames> table, std::string_view op, DType t) {
  const auto row = std::find_if(table.begin(), table.end(), [&](const KernelNames& r) { return r.op == op; });
  if (row == table.end() || is_complex(t)) return "";
  if (is_float(t)) return row->floating;
  if (t == DType::pred) return row->boolean;
  return is_unsigned_integer(t) ? row->unsignedInteger : row->signedInteger;
}

PlainResults runUnary(PlainCall& call, eval::UnaryKernel kernel) {
  auto result = resultArray(call, 0, true);
  if (!result) return fail(std::move(result.error()));
  kernel(call.operands[0].data(), result->data(), result->elements());
  return one(std::move(*result));
}

PlainResults unary(PlainCall& call) {
  const DType t = call.results[0].dtype;
  if (is_complex(call.operands[0].dtype())) return complexUnary(call);
  const std::string_view name = kernelName(kUnary, call.op.name, t);
  if (const auto kernel = name.empty() ? nullptr : eval::findUnary(name, t)) return runUnary(call, kernel);
  return fail(noEvaluation(call, t));
}

PlainResults runBinary(PlainCall& call, std::string_view name, const Array& a, const Array& b,
                       eval::Splat splat = eval::Splat::none) {
  const DType t = a.dtype();
  const auto kernel = name.empty() ? nullptr : eval::findBinary(name, t);
  if (!kernel) return fail(noEvaluation(call, t));
  auto result = resultArray(call, 0, true);
  if (!result) return fail(std::move(result.error()));
  kernel(a.data(), b.data(), result->data(), result->elements(), splat);
  return one(std::move(*result));
}

PlainResults binary(PlainCall& call) {
  if (is_complex(call.results[0].dtype)) return complexBinary(call);
  return runBinary(call, kernelName(kBinary, call.op.name, call.results[0].dtype), call.operands[0], call.operands[1]);
}

PlainResults square(PlainCall& call) {
  if (is_complex(call.results[0].dtype)) return complexUnary(call);
  return runBinary(call, kernelName(kBinary, "multiply", call.results[0].dtype), call.operands[0], call.operands[0]);
}

/// One element of `t` holding `value`.
Result<Array> scalar(DType t, double value) {
  auto array = Array::allocate({t, {}});
  if (array) eval::elementFromDouble(t, value, array->data());
  return array;
}

PlainResults negate(PlainCall& call) {
  if (is_complex(call.results[0].dtype)) return complexUnary(call);
  const DType t = call.results[0].dtype;
  if (is_float(t)) return unary(call);
  auto zero = scalar(t, 0);
  if (!zero) return fail(std::move(zero.error()));
  return runBinary(call, "arith.subi", *zero, call.operands[0], eval::Splat::lhs);
}

PlainResults logicalNot(PlainCall& call) {
  const DType t = call.results[0].dtype;
  auto ones = scalar(t, 1);
  if (!ones) return fail(std::move(ones.error()));
  if (t != DType::pred) {
    const int below = 8 - bit_width(t);  // u4 and u2 keep their upper bits zero
    std::memset(ones->data(), below > 0 && is_unsigned_integer(t) ? 0xff >> below : 0xff, ones->bytes());
  }
  return runBinary(call, "arith.xori", call.operands[0], *ones, eval::Splat::rhs);
}

PlainResults sign(PlainCall& call) {
  if (is_complex(call.results[0].dtype)) return complexUnary(call);
  auto result = resultArray(call, 0, true);
  if (!result) return fail(std::move(result.error()));
  const DType t = result->dtype();
  const std::byte* from = call.operands[0].data();
  for (int64_t i = 0, bytes = storage_bytes(t); i < result->elements(); ++i) {
    const double x = eval::elementAsDouble(t, from + i * bytes);
    eval::elementFromDouble(t, x > 0 ? 1 : x < 0 ? -1 : x, result->data() + i * bytes);
  }
  return one(std::move(*result));
}

/// 1 / (1 + exp(-x)), rounded after each step as a chain of ops would be.
PlainResults logistic(PlainCall& call) {
  if (is_complex(call.results[0].dtype)) return complexUnary(call);
  const DType t = call.results[0].dtype;
  const auto negate = eval::findUnary("arith.negf", t), exp = eval::findUnary("math.exp", t);
  const auto add = eval::findBinary("arith.addf", t), divide = eval::findBinary("arith.divf", t);
  if (!negate || !exp || !add || !divide) return fail(noEvaluation(call, t));
  auto result = resultArray(call, 0, true);
  auto ones = scalar(t, 1);
  if (!result || !ones) return fail(std::move(result ? ones.error() : result.error()));
  const int64_t n = result->elements();
  std::byte* to = result->data();
  negate(call.operands[0].data(), to, n);
  exp(to, to, n);
  add(to, ones->data(), to, n, eval::Splat::rhs);
  divide(ones->data(), to, to, n, eval::Splat::lhs);
  return one(std::move(*result));
}

PlainResults isFinite(PlainCall& call) {
  auto result = resultArray(call);
  if (!result) return fail(std::move(result.error()));
  const Array& x = call.operands[0];
  for (int64_t i = 0, bytes = storage_bytes(x.dtype()); i < x.elements(); ++i)
    result->as<uint8_t>()[i] = std::isfinite(eval::elementAsDouble(x.dtype(), x.data() + i * bytes));
  return one(std::move(*result));
}

/// Whether the element's first bit is its sign, and larger numbers of the same sign have larger other bits, NaN the
/// largest.
bool isSignAndMagnitude(DType t) { return t != DType::f4e2m1fn && t != DType::f8e4m3b11fnuz && t != DType::f8e8m0fnu; }

template <class Word>
void orderWords(const Array& from, Array& to) {
  constexpr int kSign = sizeof(Word) * 8 - 1;
  for (int64_t i = 0; i < from.elements(); ++i) {
    const Word bits = from.as<Word>()[i];
    to.as<Word>()[i] = bits < 0 ? static_cast<Word>(bits ^ ~(Word{1} << kSign)) : bits;
  }
}

PlainResults compare(PlainCall& call) {
  if (is_complex(call.operands[0].dtype())) return complexCompare(call);
  const DType t = call.operands[0].dtype();
  const std::string name = compareKernelName(call.typed(), t);
  if (!name.empty()) return runBinary(call, name, call.operands[0], call.operands[1]);
  auto a = totalOrderKeys(call.operands[0]), b = totalOrderKeys(call.operands[1]);
  if (!a || !b) return fail(std::move(a ? b.error() : a.error()));
  return runBinary(call, compareKernelName(call.typed(), a->dtype()), *a, *b);
}

PlainResults convert(PlainCall& call) {
  const DType from = call.operands[0].dtype(), to = call.results[0].dtype;
  if (from == to) return one(std::move(call.operands[0]));
  if (is_complex(from) || is_complex(to)) return complexConvert(call);
  const auto kernel = eval::findArrayConvert(from, to);
  if (!kernel) return fail(noEvaluation(call, from));
  auto result = resultArray(call);
  if (!result) return fail(std::move(result.error()));
  kernel(call.operands[0].data(), result->data(), result->elements());
  return one(std::move(*result));
}

/// Low parts first; elements below a byte take one byte each in memory.
PlainResults bitcastConvert(PlainCall& call) {
  auto result = resultArray(call);
  if (!result) return fail(std::move(result.error()));
  const DType from = call.operands[0].dtype(), to = result->dtype();
  const int fromBits = bit_width(from), toBits = bit_width(to);
  if (fromBits >= 8 && toBits >= 8) {
    if (result->bytes() > 0) std::memcpy(result->data(), call.operands[0].data(), result->bytes());
    return one(std::move(*result));
  }
  const int step = std::min(fromBits, toBits);  // both are powers of two
  const int fromBytes = storage_bytes(from), toBytes = storage_bytes(to);
  const auto* source = call.operands[0].data();
  int64_t part = 0;
  for (int64_t i = 0; i < result->elements(); ++i) {
    uint64_t bits = 0;
    for (int at = 0; at < toBits; at += step, ++part) {
      const int perSource = fromBits / step;
      uint64_t word = 0;
      std::memcpy(&word, source + part / perSource * fromBytes, fromBytes);
      bits |= ((word >> (part % perSource * step)) & ((uint64_t{1} << step) - 1)) << at;
    }
    if (is_signed_integer(to) && toBits < 8 && bits >> (toBits - 1)) bits |= ~uint64_t{0} << toBits;
    std::memcpy(result->data() + i * toBytes, &bits, toBytes);
  }
  return one(std::move(*result));
}

PlainResults select(PlainCall& call) {
  auto result = Array::allocate(call.results[0]);
  if (!result) return fail(std::move(result.error()));
  const Array &c = call.operands[0], &a = call.operands[1], &b = call.operands[2];
  eval::select(c.as<uint8_t>(), c.shape() != result->shape(), a.data(), false, b.data(), false, result->data(),
               result->elements(), storage_bytes(result->dtype()));
  return one(std::move(*result));
}

/// min(max(x, low), high); the bounds may be scalars.
PlainResults clamp(PlainCall& call) {
  const DType t = call.results[0].dtype;
  const auto maximum = eval::findBinary(kernelName(kBinary, "maximum", t), t);
  const auto minimum = eval::findBinary(kernelName(kBinary, "minimum", t), t);
  if (!maximum || !minimum) return fail(noEvaluation(call, t));
  auto result = Array::allocate(call.results[0]);
  if (!result) return fail(std::move(result.error()));
  const auto splat = [&](const Array& bound) {
    return bound.shape() == result->shape() ? eval::Splat::none : eval::Splat::rhs;
  };
  const Array &low = call.operands[0], &high = call.operands[2];
  maximum(call.operands[1].data(), low.data(), result->data(), result->elements(), splat(low));
  minimum(result->data(), high.data(), result->data(), result->elements(), splat(high));
  return one(std::move(*result));
}

PlainResults barrier(PlainCall& call) { return std::move(call.operands); }

PlainResults reducePrecision(PlainCall& call) {
  const auto bits = [&](std::string_view name) {
    return static_cast<int>(std::clamp<int64_t>(call.typed().integer(name), -1, 64));
  };
  auto result = resultArray(call);
  if (!result) return fail(std::move(result.error()));
  const DType t = result->dtype();
  if (!eval::reducePrecision(t, call.operands[0].data(), result->elements(), bits("exponent_bits"),
                             bits("mantissa_bits"), result->data()))
    return fail(noEvaluation(call, t));
  return one(std::move(*result));
}

constexpr std::array kElementwiseEvaluators{
    EvaluatorRow{"abs", unary},
    EvaluatorRow{"acos", unary},
    EvaluatorRow{"acosh", unary},
    EvaluatorRow{"add", binary},
    EvaluatorRow{"and", binary},
    EvaluatorRow{"asin", unary},
    EvaluatorRow{"asinh", unary},
    EvaluatorRow{"atan", unary},
    EvaluatorRow{"atan2", binary},
    EvaluatorRow{"atanh", unary},
    EvaluatorRow{"bitcast_convert", bitcastConvert},
    EvaluatorRow{"cbrt", unary},
    EvaluatorRow{"ceil", unary},
    EvaluatorRow{"clamp", clamp},
    EvaluatorRow{"compare", compare},
    EvaluatorRow{"convert", convert},
    EvaluatorRow{"cosh", unary},
    EvaluatorRow{"cosine", unary},
    EvaluatorRow{"count_leading_zeros", unary},
    EvaluatorRow{"divide", binary},
    EvaluatorRow{"erf", unary},
    EvaluatorRow{"erf_inv", unary},
    EvaluatorRow{"erfc", unary},
    EvaluatorRow{"exponential", unary},
    EvaluatorRow{"exponential_minus_one", unary},
    EvaluatorRow{"floor", unary},
    EvaluatorRow{"is_finite", isFinite},
    EvaluatorRow{"log", unary},
    EvaluatorRow{"log_plus_one", unary},
    EvaluatorRow{"logistic", logistic},
    EvaluatorRow{"maximum", binary},
    EvaluatorRow{"minimum", binary},
    EvaluatorRow{"multiply", binary},
    EvaluatorRow{"negate", negate},
    EvaluatorRow{"not", logicalNot},
    EvaluatorRow{"optimization_barrier", barrier},
    EvaluatorRow{"or", binary},
    EvaluatorRow{"popcnt", unary},
    EvaluatorRow{"power", binary},
    EvaluatorRow{"reduce_precision", reducePrecision},
    EvaluatorRow{"remainder", binary},
    EvaluatorRow{"round_nearest_afz", unary},
    EvaluatorRow{"round_nearest_even", unary},
    EvaluatorRow{"rsqrt", unary},
    EvaluatorRow{"select", select},
    EvaluatorRow{"shift_left", binary},
    EvaluatorRow{"shift_right_arithmetic", binary},
    EvaluatorRow{"shift_right_logical", binary},
    EvaluatorRow{"sign", sign},
    EvaluatorRow{"sine", unary},
    EvaluatorRow{"sinh", unary},
    EvaluatorRow{"sqrt", unary},
    EvaluatorRow{"square", square},
    EvaluatorRow{"subtract", binary},
    EvaluatorRow{"tan", unary},
    EvaluatorRow{"tanh", unary},
    EvaluatorRow{"xor", binary},
};

}  // namespace

std::string_view kernelOpName(std::string_view op, DType t) {
  const std::string_view name = kernelName(kUnary, op, t);
  return name.empty() ? kernelName(kBinary, op, t) : name;
}

std::string compareKernelName(const TypedOp& op, DType t) {
  std::string direction(op.text("comparison_direction"));
  std::transform(direction.begin(), direction.end(), direction.begin(), [](char c) { return c | 0x20; });
  if (is_float(t) && op.text("compare_type") == "TOTALORDER") return "";
  if (is_float(t)) return "arith.cmpf." + (direction == "ne" ? std::string("une") : "o" + direction);
  if (direction == "eq" || direction == "ne") return "arith.cmpi." + direction;
  return (is_signed_integer(t) ? "arith.cmpi.s" : "arith.cmpi.u") + direction;
}

std::span<const EvaluatorRow> elementwiseEvaluators() { return kElementwiseEvaluators; }

Result<Array> totalOrderKeys(const Array& from) {
  if (!isSignAndMagnitude(from.dtype())) {
    auto numbers = Array::allocate({DType::f64, from.shape()});
    if (!numbers) return numbers;
    for (int64_t i = 0; i < from.elements(); ++i)
      numbers->as<double>()[i] = eval::elementAsDouble(from.dtype(), from.data() + i);
    return totalOrderKeys(*numbers);
  }
  constexpr DType kWord[] = {DType::i8, DType::i16, DType::i32, DType::i64};
  const int bytes = storage_bytes(from.dtype());
  auto keys = Array::allocate({kWord[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3], from.shape()});
  if (!keys) return keys;
  if (bytes == 1) orderWords<int8_t>(from, *keys);
  if (bytes == 2) orderWords<int16_t>(from, *keys);
  if (bytes == 4) orderWords<int32_t>(from, *keys);
  if (bytes == 8) orderWords<int64_t>(from, *keys);
  return keys;
}

Result<Array> converted(const Array& array, DType to) {
  if (array.dtype() == to) return array;
  if (is_complex(array.dtype()) || is_complex(to)) return complexConverted(array, to);
  auto result = Array::allocate({to, array.shape()});
  if (!result) return result;
  eval::findArrayConvert(array.dtype(), to)(array.data(), result->data(), array.elements());
  return result;
}

}  // namespace smalti::plain
