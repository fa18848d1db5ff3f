// Reductions and take_along_axis outside kernels.
#include "eval/Reduce.h"

#include <array>
#include <cmath>
#include <limits>

#include "eval/FloatFormats.h"
#include "eval/Shape.h"
#include "lang/eager/Rules.h"

namespace smalti::lang {
namespace {

using eval::ReduceKind, plain::in, plain::PlainCall, plain::PlainResults;

/// The kind for the dtype, and what it starts from.
struct Start {
  ReduceKind kind;
  double identity;
};
Start startOf(std::string_view op, DType t) {
  const bool floats = is_float(t), isUnsigned = is_unsigned_integer(t);
  const int bits = bit_width(t);
  if (op == "reduce_sum") return {ReduceKind::add, 0};
  if (op == "reduce_prod") return {ReduceKind::mul, 1};
  if (op == "reduce_or") return {ReduceKind::ori, 0};
  if (op == "reduce_and") return {ReduceKind::andi, 1};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (op == "reduce_max")
    return floats       ? Start{ReduceKind::maximumf, -kInfinity}
           : isUnsigned ? Start{ReduceKind::maxui, 0}
                        : Start{ReduceKind::maxsi, -std::ldexp(1.0, bits - 1)};
  // The largest i64 and u64 have no double: conversion saturates to them.
  return floats       ? Start{ReduceKind::minimumf, kInfinity}
         : isUnsigned ? Start{ReduceKind::minui, std::ldexp(1.0, bits) - (bits < 64)}
                      : Start{ReduceKind::minsi, std::ldexp(1.0, bits - 1) - (bits < 64)};
}

PlainResults reduce(PlainCall& call) {
  return into(call, [&](eval::Output reduced) {
    const DType t = reduced.dtype;
    const auto [kind, identity] = startOf(call.op.name, t);
    uint64_t start = 0;
    eval::elementFromDouble(t, identity, &start);
    eval::Input values = in(call.operands[0]);
    eval::Input init{reinterpret_cast<const std::byte*>(&start), t, reduced.shape, true};
    if (t == DType::pred) values.dtype = init.dtype = reduced.dtype = DType::u8;
    if (values.elements() == 0) {
      eval::fill(reduced.data, &start, reduced.elements(), storage_bytes(t));
      return true;
    }
    return eval::multiReduce(kind, values, call.typed().integers("axes"), init, reduced);
  });
}

PlainResults reduceIndex(PlainCall& call) {
  return into(call, [&](eval::Output to) {
    return eval::reduceIndex(call.op.name == "argmax", in(call.operands[0]),
                             static_cast<int>(call.typed().integer("axis")), to);
  });
}

PlainResults takeAlongAxis(PlainCall& call) {
  return into(call, [&](eval::Output to) {
    const int64_t axis = call.typed().integer("dimension");
    eval::dynamicGather(in(call.operands[0]), in(call.operands[1]), {&axis, 1}, to);
    return true;
  });
}

constexpr std::array kReduceEvaluators{
    plain::EvaluatorRow{"argmax", reduceIndex},
    plain::EvaluatorRow{"argmin", reduceIndex},
    plain::EvaluatorRow{"reduce_and", reduce},
    plain::EvaluatorRow{"reduce_max", reduce},
    plain::EvaluatorRow{"reduce_min", reduce},
    plain::EvaluatorRow{"reduce_or", reduce},
    plain::EvaluatorRow{"reduce_prod", reduce},
    plain::EvaluatorRow{"reduce_sum", reduce},
    plain::EvaluatorRow{"take_along_axis", takeAlongAxis},
};

}  // namespace

std::span<const plain::EvaluatorRow> reduceEvaluators() { return kReduceEvaluators; }

}  // namespace smalti::lang
