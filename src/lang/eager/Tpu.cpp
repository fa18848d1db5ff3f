// The TPU's own ops outside kernels.
#include <array>

#include "eval/Bits.h"
#include "eval/Elementwise.h"
#include "eval/Shape.h"
#include "lang/eager/Rules.h"

namespace smalti::lang {
namespace {

using plain::in, plain::PlainCall, plain::PlainResults;

PlainResults reciprocal(PlainCall& call) {
  const bool approx = std::get<bool>(*call.op.find("approx"));
  return into(call, [&](eval::Output to) {
    const std::byte* from = call.operands[0].data();
    if (approx)
      eval::reciprocalApprox(reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to.data), to.elements());
    else
      eval::findUnary("tpu.reciprocal", to.dtype)(from, to.data, to.elements());
    return true;
  });
}

PlainResults roll(PlainCall& call) {
  return into(call, [&](eval::Output to) {
    eval::dynamicRotate(in(call.operands[0]), plain::indexAt(call.operands[1], 0),
                        static_cast<int>(call.typed().integer("dimension")), call.typed().integer("stride"),
                        static_cast<int>(call.typed().integer("stride_dimension", -1)), to);
    return true;
  });
}

PlainResults bitcast(PlainCall& call) {
  return into(call, [&](eval::Output to) {
    eval::bitcast(in(call.operands[0]), to);
    return true;
  });
}

DType packedType(const PlainCall& call) { return *dtype_from_name(call.typed().text("packed_dtype")); }

PlainResults pack(PlainCall& call) {
  return into(call, [&](eval::Output to) {
    std::vector<eval::Input> sources;
    for (const Array& a : call.operands) sources.push_back(in(a));
    return eval::packElementwise(sources, packedType(call), to);
  });
}

PlainResults unpack(PlainCall& call) {
  return into(call, [&](eval::Output to) {
    return eval::unpackElementwise(in(call.operands[0]), packedType(call),
                                   static_cast<int>(call.typed().integer("index")), to);
  });
}

PlainResults stochasticRound(PlainCall& call) {
  return into(call,
              [&](eval::Output to) { return eval::stochasticConvert(in(call.operands[0]), in(call.operands[1]), to); });
}

constexpr std::array kTpuEvaluators{
    plain::EvaluatorRow{"bitcast", bitcast},
    plain::EvaluatorRow{"pack_elementwise", pack},
    plain::EvaluatorRow{"reciprocal", reciprocal},
    plain::EvaluatorRow{"roll", roll},
    plain::EvaluatorRow{"stochastic_round", stochasticRound},
    plain::EvaluatorRow{"unpack_elementwise", unpack},
};

}  // namespace

std::span<const plain::EvaluatorRow> tpuEvaluators() { return kTpuEvaluators; }

}  // namespace smalti::lang
