#include "lang/transform/LinearizeControl.h"

#include <algorithm>

#include <fmt/format.h>

#include "lang/control/Scan.h"
#include "lang/ops/Support.h"
#include "lang/refs/Indexer.h"
#include "lang/trace/Replay.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/Batch.h"
#include "lang/transform/Dependence.h"
#include "lang/transform/Prune.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

using Arrays = std::vector<Array>;
using Types = std::vector<ArrayType>;
using Shared = std::shared_ptr<const TracedFunction>;

Mask inverted(Mask mask) {
  mask.flip();
  return mask;
}
bool anyOf(const Mask& mask) { return std::find(mask.begin(), mask.end(), true) != mask.end(); }
template <class T>
std::vector<T> chosen(std::span<const T> all, const Mask& mask) {
  std::vector<T> some;
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) some.push_back(all[i]);
  return some;
}
/// Results that are known and results that are linear, in the order that the mask gives.
Arrays merged(const Arrays& known, const Arrays& linear, const Mask& isLinear) {
  Arrays all;
  size_t k = 0, l = 0;
  for (const bool is : isLinear) all.push_back(is ? linear[l++] : known[k++]);
  return all;
}
Types typesOf(std::span<const Array> arrays) {
  Types types;
  for (const Array& a : arrays) types.push_back(a.type());
  return types;
}
/// Nothing for what is linear: the inputs of `transposed`.
std::vector<MaybeZero> knownOf(const Arrays& inputs, const Mask& isLinear) {
  std::vector<MaybeZero> known;
  for (size_t i = 0; i < inputs.size(); ++i) known.push_back(isLinear[i] ? std::nullopt : MaybeZero(inputs[i]));
  return known;
}
/// Linear inputs are dropped: only the recorded op refers to them.
Arrays withoutLinear(Arrays inputs, const Mask& isLinear) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (isLinear[i]) inputs[i] = Array();
  return inputs;
}

[[noreturn]] void refuseUnknownTrips() {
  refuse({.code = "SM7105",
          .message = "reverse-mode differentiation does not work for a while_loop, or a fori_loop with traced bounds",
          .place = {},
          .need = "a number of steps known when the function is traced",
          .have = "one that is computed",
          .help = "use scan, or fori_loop with C++ integers as bounds; jvp works for any loop"});
}

}  // namespace

std::vector<Array> linearizeIf(Linearizer& linearizer, const ClosedCall& c, const Mask& isLinear) {
  Mask taint(c.results.size());
  for (const ClosedRegion& r : c.regions) {
    const Mask flags = dependent(*r.function, capturesOf(r, isLinear), Through::floats);
    for (size_t i = 0; i < taint.size(); ++i) taint[i] = taint[i] || flags[i];
  }
  const Mask known = inverted(taint);
  const Arrays inputs = withoutLinear(c.inputs, isLinear);
  Arrays results;
  if (anyOf(known)) {
    std::vector<Region> regions;
    for (const ClosedRegion& r : c.regions)
      regions.push_back({{}, [&](std::span<const Array>) {
                           return replay(*keepResults(*r.function, known), capturesOf(r, inputs));
                         }});
    results = bindRegions(*c.op, {inputs.data(), 1}, chosen<ArrayType>(c.results, known), regions, c.at);
  }
  const Arrays linear = chosen<Array>(c.inputs, isLinear);
  const Types types = typesOf(linear);
  std::vector<Shared> functions;
  for (const ClosedRegion& r : c.regions) functions.push_back(keepResults(*r.function, taint));
  const auto transpose = [c, inputs, isLinear, types, functions](std::span<const MaybeZero> cotangents) {
    std::vector<Region> regions;
    for (size_t i = 0; i < c.regions.size(); ++i)
      regions.push_back({{}, [&, i](std::span<const Array>) {
                           const ClosedRegion& r = c.regions[i];
                           const Mask mask = capturesOf(r, isLinear);
                           const auto made =
                               transposed(*functions[i], knownOf(capturesOf(r, inputs), mask), cotangents);
                           Arrays all;
                           size_t next = 0;
                           for (size_t k = 0; k < isLinear.size(); ++k) {
                             if (!isLinear[k]) continue;
                             const bool mine = k >= r.firstCapture && k < r.firstCapture + r.numCaptures;
                             all.push_back(instantiated(mine ? made[next++] : std::nullopt, types[all.size()]));
                           }
                           return all;
                         }});
    const Arrays made = bindRegions(*c.op, {inputs.data(), 1}, types, regions, c.at);
    return std::vector<MaybeZero>(made.begin(), made.end());
  };
  return merged(results, linearizer.note(linear, chosen<ArrayType>(c.results, taint), transpose), taint);
}

std::vector<Array> linearizeCheckpoint(Linearizer& linearizer, const ClosedCall& c, const Mask& isLinear) {
  const TracedFunction& function = *c.regions[0].function;
  const Mask taint = dependent(function, isLinear, Through::floats), known = inverted(taint);
  const Arrays inputs = withoutLinear(c.inputs, isLinear);
  Arrays results;
  if (anyOf(known)) results = replay(*keepResults(function, known), inputs);
  const auto transpose = [known = knownOf(inputs, isLinear), linear = keepResults(function, taint)](
                             std::span<const MaybeZero> cotangents) { return transposed(*linear, known, cotangents); };
  return merged(results,
                linearizer.note(chosen<Array>(c.inputs, isLinear), chosen<ArrayType>(c.results, taint), transpose),
                taint);
}

namespace {

/// Flags of a body's carries that are unknown, at the fixed point; `flagsOf` maps the carries' flags to those of the
/// results.
template <class F>
Mask unknownCarries(Mask carries, const F& flagsOf) {
  for (;;) {
    Mask next = carries;
    const Mask flags = flagsOf(carries);
    for (size_t i = 0; i < next.size(); ++i) next[i] = next[i] || flags[i];
    if (next == carries) return carries;
    carries = std::move(next);
  }
}

/// Results without a derivative.
Arrays notedAsUnknown(Linearizer& linearizer, const ClosedCall& c, const Mask& isLinear, const Mask& taint) {
  return linearizer.note(chosen<Array>(c.inputs, isLinear), chosen<ArrayType>(c.results, taint),
                         [](std::span<const MaybeZero>) -> std::vector<MaybeZero> { refuseUnknownTrips(); });
}

/// The region with the carries that are known: arguments before them, then these.
Arrays runKnown(const ClosedRegion& r, const TracedFunction& function, const Arrays& inputs, size_t before,
                const Mask& taint, std::span<const Array> inside) {
  Arrays arguments(inside.begin(), inside.begin() + static_cast<ptrdiff_t>(before));
  size_t next = before;
  for (const bool unknown : taint) arguments.push_back(unknown ? Array() : inside[next++]);
  const auto captured = capturesOf(r, inputs);
  arguments.insert(arguments.end(), captured.begin(), captured.end());
  return replay(function, arguments);
}

}  // namespace

std::vector<Array> linearizeWhile(Linearizer& linearizer, const ClosedCall& c, const Mask& isLinear) {
  const ClosedRegion &condition = c.regions[0], &body = c.regions[1];
  const size_t n = c.results.size();
  const Mask taint =
      unknownCarries({isLinear.begin(), isLinear.begin() + static_cast<ptrdiff_t>(n)}, [&](Mask carries) {
        const Mask captured = capturesOf(body, isLinear);
        carries.insert(carries.end(), captured.begin(), captured.end());
        return dependent(*body.function, carries, Through::floats);
      });
  const Mask known = inverted(taint);
  const Arrays inputs = withoutLinear(c.inputs, isLinear);
  const Arrays operands = chosen<Array>(std::span(inputs).first(n), known);
  const Types types = typesOf(operands);
  const Shared next = keepResults(*body.function, known);
  const Region regions[] = {
      {types,
       [&](std::span<const Array> inside) {
         return runKnown(condition, *condition.function, inputs, 0, taint, inside);
       }},
      {types, [&](std::span<const Array> inside) { return runKnown(body, *next, inputs, 0, taint, inside); }}};
  const Arrays results = bindRegions(*c.op, operands, types, regions, c.at, c.attributes);
  return merged(results, notedAsUnknown(linearizer, c, isLinear, taint), taint);
}

namespace {

/// The known part of a loop with computed bounds.
Arrays linearizeTracedFor(Linearizer& linearizer, const ClosedCall& c, const Mask& isLinear) {
  const ClosedRegion& body = c.regions[0];
  const size_t n = c.results.size();
  const Mask taint =
      unknownCarries({isLinear.begin() + 2, isLinear.begin() + 2 + static_cast<ptrdiff_t>(n)}, [&](Mask carries) {
        carries.insert(carries.begin(), false);
        const Mask captured = capturesOf(body, isLinear);
        carries.insert(carries.end(), captured.begin(), captured.end());
        return dependent(*body.function, carries, Through::floats);
      });
  const Mask known = inverted(taint);
  const Arrays inputs = withoutLinear(c.inputs, isLinear);
  Arrays operands{inputs[0], inputs[1]};
  const Arrays carries = chosen<Array>(std::span(inputs).subspan(2, n), known);
  operands.insert(operands.end(), carries.begin(), carries.end());
  const Types types = typesOf(carries);
  Types arguments{{DType::i32, {}}};
  arguments.insert(arguments.end(), types.begin(), types.end());
  const Shared next = keepResults(*body.function, known);
  const Region region{arguments,
                      [&](std::span<const Array> inside) { return runKnown(body, *next, inputs, 1, taint, inside); }};
  const Arrays results = bindRegions(*c.op, operands, types, {&region, 1}, c.at, c.attributes);
  return merged(results, notedAsUnknown(linearizer, c, isLinear, taint), taint);
}

}  // namespace

/// Linearises the loop as a scan over the indices.
std::vector<Array> linearizeFor(Linearizer& linearizer, const ClosedCall& c, const Mask& isLinear) {
  const size_t n = c.results.size();
  const auto lower = concreteInteger(c.inputs[0]), upper = concreteInteger(c.inputs[1]);
  if (!lower || !upper) return linearizeTracedFor(linearizer, c, isLinear);
  const auto step = c.attribute<int64_t>("step");
  const int64_t trips = std::max<int64_t>((*upper - *lower + step - 1) / step, 0);
  ClosedCall scan = c;
  scan.op = &scanRecord();
  scan.attributes = {{"num_carry", static_cast<int64_t>(n)}, {"length", trips}, {"reverse", false}};
  scan.numOperands = n + 1;
  const Array indices = arange(trips, DType::i32) * static_cast<int>(step) + static_cast<int>(*lower);
  scan.inputs.erase(scan.inputs.begin(), scan.inputs.begin() + 2);
  scan.inputs.insert(scan.inputs.begin() + static_cast<ptrdiff_t>(n), indices);
  Mask mask(isLinear.begin() + 2, isLinear.end());
  mask.insert(mask.begin() + static_cast<ptrdiff_t>(n), false);
  auto function = std::make_shared<TracedFunction>(*c.regions[0].function);
  auto& arguments = function->function.arguments;
  std::rotate(arguments.begin(), arguments.begin() + 1, arguments.begin() + static_cast<ptrdiff_t>(n) + 1);
  scan.regions[0].function = std::move(function);
  scan.regions[0].firstCapture = n + 1;
  return linearizeScan(linearizer, scan, mask);
}

namespace {

/// A scan whose steps are linear in some inputs: what is known of it, and the transposition of the rest.
class LinearScan {
 public:
  LinearScan(const ClosedCall& c, const Mask& isLinear)
      : c_(c),
        isLinear_(isLinear),
        numCarry_(static_cast<size_t>(c.attribute<int64_t>("num_carry"))),
        numXs_(c.numOperands - numCarry_),
        length_(c.attribute<int64_t>("length")),
        reverse_(c.attribute<bool>("reverse")) {
    const TracedFunction& function = *c.regions[0].function;
    Mask arguments = isLinear;
    for (;;) {
      taint_ = dependent(function, arguments, Through::floats);
      Mask next = arguments;
      for (size_t i = 0; i < numCarry_; ++i) next[i] = next[i] || taint_[i];
      if (next == arguments) break;
      arguments = std::move(next);
    }
    // A carry whose initial value is unknown stays unknown.
    for (size_t i = 0; i < numCarry_; ++i) taint_[i] = arguments[i];
    isUnknown_ = std::move(arguments);
    linear_ = keepResults(function, taint_);
    inputs_ = withoutLinear(c.inputs, isLinear);
    const Mask used = usedArguments(*linear_);
    for (size_t i = 0; i < used.size(); ++i) isSaved_.push_back(used[i] && !isUnknown_[i]);
  }
  const Mask& taint() const { return taint_; }

  /// The results that are known; keeps the carries of each step that the rest needs.
  Arrays known() {
    const Mask kept = inverted(taint_);
    const Shared function = keepResults(*c_.regions[0].function, kept);
    Arrays operands;
    Types arguments, types;
    size_t numKnown = 0;
    for (size_t i = 0; i < c_.numOperands; ++i) {
      if (isUnknown_[i]) continue;
      operands.push_back(inputs_[i]);
      arguments.push_back(argumentType(i));
      if (i < numCarry_) ++numKnown;
    }
    for (size_t i = 0; i < kept.size(); ++i)
      if (kept[i]) types.push_back(c_.results[i]);
    const size_t numResults = types.size();
    for (size_t i = 0; i < numCarry_; ++i)
      if (isSaved_[i]) types.push_back(batchedType(argumentType(i), length_));
    if (types.empty()) return {};
    const Region region{arguments, [&](std::span<const Array> inside) {
                          Arrays all = inputs_;
                          size_t next = 0;
                          for (size_t i = 0; i < c_.numOperands; ++i) all[i] = isUnknown_[i] ? Array() : inside[next++];
                          Arrays results = replay(*function, all);
                          for (size_t i = 0; i < numCarry_; ++i)
                            if (isSaved_[i]) results.push_back(all[i]);
                          return results;
                        }};
    Arrays results = bindScan(operands, numKnown, length_, reverse_, types, region, c_.at);
    size_t next = numResults;
    for (size_t i = 0; i < numCarry_; ++i)
      if (isSaved_[i]) inputs_[i] = results[next++];  // from here on: of every step
    results.resize(numResults);
    return results;
  }

  /// A reverse scan, which recomputes each step's residuals from its carries.
  std::vector<MaybeZero> transpose(std::span<const MaybeZero> cotangents) const {
    Arrays operands;
    Types arguments, types;
    const auto carried = [&](const MaybeZero& start, const ArrayType& type) {
      operands.push_back(instantiated(start, type));
      arguments.push_back(type);
      types.push_back(type);
    };
    size_t given = 0;
    for (size_t i = 0; i < numCarry_; ++i)
      if (isUnknown_[i]) carried(cotangents[given++], argumentType(i));
    const size_t numCarryCts = operands.size();
    for (size_t i = c_.numOperands; i < inputs_.size(); ++i)
      if (isUnknown_[i]) carried({}, argumentType(i));
    const size_t numCarry = operands.size();
    const auto scanned = [&](const Array& a) {
      operands.push_back(a);
      arguments.push_back(a.type());
      arguments.back().shape.erase(arguments.back().shape.begin());
    };
    for (size_t i = 0; i < c_.numOperands; ++i)
      if (isSaved_[i]) scanned(inputs_[i]);
    Mask hasY;
    for (; given < cotangents.size(); ++given) {
      hasY.push_back(cotangents[given].has_value());
      if (hasY.back()) scanned(*cotangents[given]);
    }
    for (size_t i = numCarry_; i < c_.numOperands; ++i)
      if (isUnknown_[i]) types.push_back(inputType(i));
    const Region region{arguments,
                        [&](std::span<const Array> inside) { return step(inside, numCarryCts, numCarry, hasY); }};
    const Arrays made = bindScan(operands, numCarry, length_, !reverse_, types, region, c_.at);
    // In the order of the inputs: carries, scanned arrays, captures.
    std::vector<MaybeZero> all;
    size_t carry = 0, capture = numCarryCts, x = numCarry;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!isUnknown_[i]) continue;
      const Array& ct = i < numCarry_ ? made[carry++] : i < c_.numOperands ? made[x++] : made[capture++];
      if (isLinear_[i]) all.emplace_back(ct);
    }
    return all;
  }

 private:
  Arrays step(std::span<const Array> inside, size_t numCarryCts, size_t numCarry, const Mask& hasY) const {
    std::vector<MaybeZero> known, cts(inside.begin(), inside.begin() + static_cast<ptrdiff_t>(numCarryCts));
    size_t next = numCarry;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (isUnknown_[i])
        known.emplace_back();
      else if (i < c_.numOperands)
        known.emplace_back(isSaved_[i] ? inside[next++] : Array());
      else
        known.emplace_back(inputs_[i]);
    }
    for (const bool has : hasY) cts.push_back(has ? MaybeZero(inside[next++]) : std::nullopt);
    const std::vector<MaybeZero> made = transposed(*linear_, known, cts);
    Arrays carries, sums, xs;
    size_t m = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!isUnknown_[i]) continue;
      const MaybeZero& ct = made[m++];
      if (i < numCarry_)
        carries.push_back(instantiated(ct, argumentType(i)));
      else if (i < c_.numOperands)
        xs.push_back(instantiated(ct, argumentType(i)));
      else
        sums.push_back(*sumOf(inside[numCarryCts + sums.size()], ct));
    }
    carries.insert(carries.end(), sums.begin(), sums.end());
    carries.insert(carries.end(), xs.begin(), xs.end());
    return carries;
  }
  const ArrayType& argumentType(size_t i) const {
    const Function& f = c_.regions[0].function->function;
    return f.values[f.arguments[i]];
  }
  ArrayType inputType(size_t i) const {
    return i >= numCarry_ && i < c_.numOperands ? batchedType(argumentType(i), length_) : argumentType(i);
  }

  ClosedCall c_;
  Mask isLinear_, isUnknown_, taint_, isSaved_;  ///< by input, but for `taint_`: by result
  Arrays inputs_;
  size_t numCarry_, numXs_;
  int64_t length_;
  bool reverse_;
  Shared linear_;
};

}  // namespace

std::vector<Array> linearizeScan(Linearizer& linearizer, const ClosedCall& c, const Mask& isLinear) {
  const auto scan = std::make_shared<LinearScan>(c, isLinear);
  const Arrays known = scan->known();
  const Arrays linear =
      linearizer.note(chosen<Array>(c.inputs, isLinear), chosen<ArrayType>(c.results, scan->taint()),
                      [scan](std::span<const MaybeZero> cotangents) { return scan->transpose(cotangents); });
  return merged(known, linear, scan->taint());
}

}  // namespace smalti::lang
