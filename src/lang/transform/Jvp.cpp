#include "lang/transform/Jvp.h"

#include <algorithm>

#include <fmt/format.h>

#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/ControlFlow.h"
#include "lang/transform/Custom.h"
#include "lang/transform/JvpKernel.h"
#include "lang/transform/kernel/VjpKernel.h"
#include "smalti/ops/create.h"

namespace smalti::lang {
namespace {

struct JvpValue : TracedValue {
  Array primal, tangent;
};

[[noreturn]] void refuseDerivative(const OpCall& call) {
  refuse({.code = "SM7101",
          .message = fmt::format("'{}' cannot be differentiated: {}", call.op.shownName(),
                                 call.op.noJvp.empty() ? "it has no derivative" : call.op.noJvp),
          .place = {},
          .need = "ops that have a derivative on what the result depends on",
          .have = fmt::format("{} of {}", call.op.shownName(),
                              call.operands.empty() ? "nothing" : call.operands[0].type().str()),
          .help = "give the function around it a derivative of its own with custom_vjp or custom_jvp, or hide the "
                  "value with stop_gradient"});
}

class JvpTracer : public Tracer {
 public:
  Array wrap(const Array& primal, const MaybeZero& tangent) const {
    if (!tangent || !is_float(primal.dtype())) return primal;
    auto value = std::make_shared<JvpValue>();
    value->tracer = serial_;
    value->primal = primal;
    value->tangent = *tangent;
    return Array::traced(primal.type(), std::move(value)).with_weak_type(primal.weak_type());
  }
  const JvpValue* valueOf(const Array& a) const {
    if (!a.is_traced() || !a.tracer()) return nullptr;
    const auto* value = static_cast<const TracedValue*>(a.tracer().get());
    return value->tracer == serial_ ? static_cast<const JvpValue*>(value) : nullptr;
  }
  Array primal(const Array& a) const {
    const JvpValue* v = valueOf(a);
    return v ? v->primal.with_weak_type(a.weak_type()) : a;
  }
  MaybeZero tangent(const Array& a) const {
    const JvpValue* v = valueOf(a);
    return v ? MaybeZero(v->tangent) : std::nullopt;
  }

  std::vector<Array> bind(OpCall call) override {
    if (!call.regions.empty()) return bindClosed(closeRegions(call));
    std::vector<Array> primals;
    std::vector<MaybeZero> tangents;
    bool any = false;
    for (const Array& a : call.operands) {
      primals.push_back(primal(a));
      tangents.push_back(tangent(a));
      any = any || tangents.back();
    }
    call.operands = primals;
    const TracerScope below(outer());
    const auto isFloat = [](const ArrayType& t) { return is_float(t.dtype); };
    if (!any || std::none_of(call.results.begin(), call.results.end(), isFloat)) return outer().bind(std::move(call));
    if (call.kernel)
      return wrapped(outer().linearizes() ? linearizedKernel(call, tangents) : jvpKernel(call, tangents));
    if (call.custom) return wrapped(call.custom->jvp(call, tangents));
    if (!call.op.jvp) refuseDerivative(call);
    return wrapped(call.op.jvp(call, tangents));
  }

 private:
  std::vector<Array> wrapped(const Differentiated& d) const {
    std::vector<Array> results;
    for (size_t i = 0; i < d.results.size(); ++i) results.push_back(wrap(d.results[i], d.tangents[i]));
    return results;
  }
  std::vector<Array> bindClosed(ClosedCall call) const {
    std::vector<MaybeZero> tangents;
    bool any = false;
    for (Array& a : call.inputs) {
      tangents.push_back(tangent(a));
      a = primal(a);
      any = any || tangents.back();
    }
    const TracerScope below(outer());
    if (!any) return bindAgain(call, call.inputs);
    if (!call.op->control) {
      const OpCall named{*call.op, std::span(call.inputs).first(call.numOperands), call.results};
      refuseDerivative(named);
    }
    return wrapped(call.op->control->jvp(call, tangents));
  }
};

}  // namespace

Differentiated jvp(const Functional& f, std::span<const Array> primals, std::span<const MaybeZero> tangents) {
  JvpTracer tracer;
  std::vector<Array> inside;
  for (size_t i = 0; i < primals.size(); ++i) inside.push_back(tracer.wrap(primals[i], tangents[i]));
  std::vector<Array> results;
  {
    const TracerScope scope(tracer);
    results = f(inside);
  }
  Differentiated d;
  for (const Array& r : results) {
    d.results.push_back(tracer.primal(r));
    d.tangents.push_back(tracer.tangent(r));
  }
  return d;
}

Array instantiated(const MaybeZero& tangent, const ArrayType& type) {
  return tangent ? *tangent : zeros(type.shape, type.dtype);
}

Mask nonzero(std::span<const MaybeZero> tangents) {
  Mask mask;
  for (const MaybeZero& t : tangents) mask.push_back(t.has_value());
  return mask;
}

std::vector<Array> flat(const Differentiated& d, const Mask& mask) {
  std::vector<Array> all = d.results;
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) all.push_back(instantiated(d.tangents[i], d.results[i].type()));
  return all;
}

Differentiated unflat(std::vector<Array> all, const Mask& mask) {
  Differentiated d;
  auto next = all.begin() + static_cast<ptrdiff_t>(mask.size());
  d.results.assign(all.begin(), next);
  for (const bool has : mask) d.tangents.push_back(has ? MaybeZero(*next++) : std::nullopt);
  return d;
}

}  // namespace smalti::lang
