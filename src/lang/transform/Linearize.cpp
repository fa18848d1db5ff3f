#include "lang/transform/Linearize.h"

#include <algorithm>

#include <fmt/format.h>

#include "lang/trace/Replay.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/ControlFlow.h"
#include "lang/transform/Custom.h"
#include "lang/transform/kernel/VjpKernel.h"
#include "smalti/ops/elementwise.h"

namespace smalti::lang {
namespace {

struct LinearValue : TracedValue {
  int id;
};

/// An op without regions, kept for later.
struct Kept {
  const OpRecord& op;
  std::vector<Array> operands;
  Mask isLinear;
  std::vector<ArrayType> results;
  Attributes attributes;

  std::vector<MaybeZero> transpose(std::span<const MaybeZero> cotangents) const {
    std::vector<MaybeZero> all = op.transpose({op, operands, results, attributes}, isLinear, cotangents), linear;
    for (size_t i = 0; i < all.size(); ++i)
      if (isLinear[i]) linear.push_back(std::move(all[i]));
    return linear;
  }
};

}  // namespace

int Linearizer::idOf(const Array& a) const {
  if (!a.is_traced() || !a.tracer()) return -1;
  const auto* value = static_cast<const TracedValue*>(a.tracer().get());
  return value->tracer == serial_ ? static_cast<const LinearValue*>(value)->id : -1;
}
bool Linearizer::isLinear(const Array& a) const { return idOf(a) >= 0; }

Array Linearizer::linear(ArrayType type) {
  return Array::traced(std::move(type), std::make_shared<LinearValue>(LinearValue{{serial_}, count_++}));
}

std::vector<Array> Linearizer::note(std::span<const Array> operands, std::span<const ArrayType> results,
                                    Transposer transpose) {
  Noted noted{.operands = {}, .results = {}, .place = currentPlace(), .transpose = std::move(transpose)};
  for (const Array& a : operands) noted.operands.push_back(idOf(a));
  std::vector<Array> made;
  for (const ArrayType& type : results) {
    made.push_back(linear(type));
    noted.results.push_back(idOf(made.back()));
  }
  noted_.push_back(std::move(noted));
  return made;
}

std::vector<Array> Linearizer::bind(OpCall call) {
  if (!call.regions.empty()) {
    const ClosedCall closed = closeRegions(call);
    Mask mask;
    for (const Array& a : closed.inputs) mask.push_back(isLinear(a));
    const TracerScope below(outer());
    if (std::find(mask.begin(), mask.end(), true) == mask.end()) return bindAgain(closed, closed.inputs);
    const SourceLocationScope place(closed.at);
    return closed.op->control->linearize(*this, closed, mask);
  }
  Mask mask;
  std::vector<Array> linearOperands;
  for (const Array& a : call.operands) {
    mask.push_back(isLinear(a));
    if (mask.back()) linearOperands.push_back(a);
  }
  if (linearOperands.empty()) {
    const TracerScope below(outer());
    return outer().bind(std::move(call));
  }
  if (call.custom) return call.custom->linearize(*this, call, mask);
  if (call.kernel) return linearKernel(call);
  if (!call.op.transpose)
    refuse({.code = "SM7102",
            .message = fmt::format("'{}' cannot be transposed, which reverse mode needs", call.op.shownName()),
            .place = {},
            .need = "derivatives that are sums, products and moves of elements",
            .have = std::string(call.op.shownName()),
            .help = "use forward mode (jvp), or give the function a custom_vjp"});
  Kept kept{call.op, {}, mask, {call.results.begin(), call.results.end()}, call.attributes};
  for (size_t i = 0; i < mask.size(); ++i)
    kept.operands.push_back(mask[i] ? Array::traced(call.operands[i].type(), nullptr) : call.operands[i]);
  return note(linearOperands, call.results,
              [kept = std::move(kept)](std::span<const MaybeZero> cts) { return kept.transpose(cts); });
}

MaybeZero sumOf(const MaybeZero& a, const MaybeZero& b) {
  if (!a || !b) return a ? a : b;
  return add(*a, *b);
}

std::vector<MaybeZero> Linearizer::pullback(std::span<const Array> results, std::span<const MaybeZero> cotangents,
                                            std::span<const Array> unknowns) const {
  std::vector<MaybeZero> sums(count_);
  for (size_t i = 0; i < results.size(); ++i)
    if (const int id = idOf(results[i]); id >= 0) sums[id] = sumOf(sums[id], cotangents[i]);
  for (auto noted = noted_.rbegin(); noted != noted_.rend(); ++noted) {
    std::vector<MaybeZero> given;
    bool any = false;
    for (const int id : noted->results) {
      given.push_back(std::move(sums[id]));
      any = any || given.back();
    }
    if (!any) continue;
    const RecordedLocationScope place(noted->place);
    const std::vector<MaybeZero> made = noted->transpose(given);
    for (size_t i = 0; i < made.size(); ++i) sums[noted->operands[i]] = sumOf(sums[noted->operands[i]], made[i]);
  }
  std::vector<MaybeZero> of;
  for (const Array& u : unknowns) of.push_back(sums[idOf(u)]);
  return of;
}

std::vector<MaybeZero> transposed(const TracedFunction& function, std::span<const MaybeZero> known,
                                  std::span<const MaybeZero> cotangents) {
  Linearizer linearizer;
  std::vector<Array> inputs, unknowns, results;
  for (size_t i = 0; i < known.size(); ++i) {
    inputs.push_back(known[i] ? *known[i]
                              : linearizer.linear(function.function.values[function.function.arguments[i]]));
    if (!known[i]) unknowns.push_back(inputs.back());
  }
  {
    const TracerScope scope(linearizer);
    results = replay(function, inputs);
  }
  return linearizer.pullback(results, cotangents, unknowns);
}

Pullback vjp(const Functional& f, std::span<const Array> primals) {
  const auto linearizer = std::make_shared<Linearizer>();
  std::vector<MaybeZero> tangents;
  std::vector<Array> unknowns;
  for (const Array& p : primals) {
    if (!is_float(p.dtype())) {
      tangents.emplace_back();
      continue;
    }
    unknowns.push_back(linearizer->linear(p.type()));
    tangents.emplace_back(unknowns.back());
  }
  Differentiated d;
  {
    const TracerScope scope(*linearizer);
    d = jvp(f, primals, tangents);
  }
  const Mask has = nonzero(tangents);
  return {d.results, [linearizer, tangents = std::move(d.tangents), unknowns = std::move(unknowns),
                      has](std::span<const MaybeZero> cotangents) {
            std::vector<Array> linear;
            std::vector<MaybeZero> given;
            for (size_t i = 0; i < tangents.size(); ++i)
              if (tangents[i] && cotangents[i]) {
                linear.push_back(*tangents[i]);
                given.push_back(cotangents[i]);
              }
            const std::vector<MaybeZero> sums = linearizer->pullback(linear, given, unknowns);
            std::vector<MaybeZero> all;
            auto next = sums.begin();
            for (const bool h : has) all.push_back(h ? *next++ : std::nullopt);
            return all;
          }};
}

}  // namespace smalti::lang
