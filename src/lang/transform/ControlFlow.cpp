// Branches, loops and checkpoints under jvp and vmap; linearize is in LinearizeControl.cpp.
#include "lang/transform/ControlFlow.h"

#include <algorithm>

#include "lang/trace/Replay.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/Batch.h"
#include "lang/transform/Dependence.h"
#include "lang/transform/LinearizeControl.h"
#include "smalti/control.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

using Arrays = std::vector<Array>;
using Tangents = std::vector<MaybeZero>;
using Types = std::vector<ArrayType>;

template <class T, class U>
void append(std::vector<T>& to, const U& more) {
  to.insert(to.end(), more.begin(), more.end());
}
void join(Mask& flags, const Mask& more) {
  for (size_t i = 0; i < flags.size(); ++i) flags[i] = flags[i] || more[i];
}
template <class T>
std::vector<T> part(std::span<const T> all, size_t from, size_t count) {
  return {all.begin() + static_cast<ptrdiff_t>(from), all.begin() + static_cast<ptrdiff_t>(from + count)};
}
Mask part(const Mask& all, size_t from, size_t count) {
  return {all.begin() + static_cast<ptrdiff_t>(from), all.begin() + static_cast<ptrdiff_t>(from + count)};
}
Functional functionOf(const ClosedRegion& region) {
  return [f = region.function](std::span<const Array> x) { return replay(*f, x); };
}
Types typesOf(std::span<const Array> arrays) {
  Types types;
  for (const Array& a : arrays) types.push_back(a.type());
  return types;
}
Types chosen(const Types& types, const Mask& mask) {
  Types some;
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) some.push_back(types[i]);
  return some;
}

/// The region on primals and tangents of its arguments; results, then the tangents that are flagged.
Arrays regionJvp(const ClosedRegion& region, std::span<const Array> inputs, std::span<const MaybeZero> tangents,
                 Arrays arguments, Tangents given, const Mask& mask) {
  append(arguments, capturesOf(region, inputs));
  append(given, capturesOf(region, tangents));
  return flat(jvp(functionOf(region), arguments, given), mask);
}

/// Flags of a region's results that have tangents.
Mask regionHas(const ClosedRegion& region, Mask arguments, const Mask& inputs) {
  append(arguments, capturesOf(region, inputs));
  return dependent(*region.function, arguments, Through::floats);
}

Differentiated jvpIf(const ClosedCall& c, std::span<const MaybeZero> tangents) {
  Mask mask(c.results.size());
  for (const ClosedRegion& r : c.regions) join(mask, regionHas(r, {}, nonzero(tangents)));
  std::vector<Region> regions;
  for (const ClosedRegion& r : c.regions)
    regions.push_back({{}, [&](std::span<const Array>) { return regionJvp(r, c.inputs, tangents, {}, {}, mask); }});
  Types types = c.results;
  append(types, chosen(c.results, mask));
  return unflat(bindRegions(*c.op, {c.inputs.data(), 1}, types, regions, c.at, c.attributes), mask);
}

Differentiated jvpCheckpoint(const ClosedCall& c, std::span<const MaybeZero> tangents) {
  const ClosedRegion& r = c.regions[0];
  const Mask has = nonzero(tangents), mask = regionHas(r, part(has, 0, c.numOperands), has);
  // The tangents are passed as operands, so that they are arguments of the region and it captures nothing.
  Arrays operands(c.inputs.begin(), c.inputs.begin() + static_cast<ptrdiff_t>(c.numOperands));
  for (size_t i = 0; i < c.numOperands; ++i)
    if (has[i]) operands.push_back(*tangents[i]);
  const Region region{typesOf(operands), [&](std::span<const Array> inside) {
                        Tangents given(c.numOperands);
                        auto next = inside.begin() + static_cast<ptrdiff_t>(c.numOperands);
                        for (size_t i = 0; i < c.numOperands; ++i)
                          if (has[i]) given[i] = *next++;
                        return regionJvp(r, c.inputs, tangents, part(inside, 0, c.numOperands), std::move(given), mask);
                      }};
  Types types = c.results;
  append(types, chosen(c.results, mask));
  return unflat(bindRegions(*c.op, operands, types, {&region, 1}, c.at, c.attributes), mask);
}

/// Flags of the carries that have tangents, at the fixed point; `flagsOf` maps the flags of the carries to those of the
/// results.
template <class F>
Mask fixpoint(Mask carries, const F& flagsOf) {
  for (;;) {
    Mask next = carries;
    const Mask flags = flagsOf(carries);
    join(next, flags);
    if (next == carries) return carries;
    carries = std::move(next);
  }
}

/// Carries and, after them, the tangents of those that are flagged.
struct Doubled {
  const Mask& mask;
  Arrays operands(std::span<const Array> primals, std::span<const MaybeZero> tangents) const {
    return flat({{primals.begin(), primals.end()}, {tangents.begin(), tangents.end()}}, mask);
  }
  std::pair<Arrays, Tangents> open(std::span<const Array> inside) const {
    Differentiated d = unflat({inside.begin(), inside.end()}, mask);
    return {std::move(d.results), std::move(d.tangents)};
  }
};

Differentiated jvpFor(const ClosedCall& c, std::span<const MaybeZero> tangents) {
  const ClosedRegion& r = c.regions[0];
  const size_t n = c.results.size();
  const Mask has = nonzero(tangents);
  const Mask mask = fixpoint(part(has, 2, n), [&](Mask carries) {
    carries.insert(carries.begin(), false);
    return regionHas(r, std::move(carries), has);
  });
  const Doubled doubled{mask};
  Arrays operands{c.inputs[0], c.inputs[1]};
  append(operands, doubled.operands(part<Array>(c.inputs, 2, n), part(tangents, 2, n)));
  const Types types = typesOf(std::span(operands).subspan(2));
  Types arguments{{DType::i32, {}}};
  append(arguments, types);
  const Region region{arguments, [&](std::span<const Array> inside) {
                        auto [primals, given] = doubled.open(inside.subspan(1));
                        primals.insert(primals.begin(), inside[0]);
                        given.insert(given.begin(), std::nullopt);
                        return regionJvp(r, c.inputs, tangents, std::move(primals), std::move(given), mask);
                      }};
  return unflat(bindRegions(*c.op, operands, types, {&region, 1}, c.at, c.attributes), mask);
}

Differentiated jvpWhile(const ClosedCall& c, std::span<const MaybeZero> tangents) {
  const ClosedRegion &condition = c.regions[0], &body = c.regions[1];
  const size_t n = c.results.size();
  const Mask has = nonzero(tangents);
  const Mask mask = fixpoint(part(has, 0, n), [&](const Mask& carries) { return regionHas(body, carries, has); });
  const Doubled doubled{mask};
  const Arrays operands = doubled.operands(part<Array>(c.inputs, 0, n), part(tangents, 0, n));
  const Types types = typesOf(operands);
  const Region regions[] = {{types,
                             [&](std::span<const Array> inside) {
                               Arrays arguments = part(inside, 0, n);
                               append(arguments, capturesOf(condition, c.inputs));
                               return replay(*condition.function, arguments);
                             }},
                            {types, [&](std::span<const Array> inside) {
                               auto [primals, given] = doubled.open(inside);
                               return regionJvp(body, c.inputs, tangents, std::move(primals), std::move(given), mask);
                             }}};
  return unflat(bindRegions(*c.op, operands, types, regions, c.at, c.attributes), mask);
}

Differentiated jvpScan(const ClosedCall& c, std::span<const MaybeZero> tangents) {
  const ClosedRegion& r = c.regions[0];
  const auto n = static_cast<size_t>(c.attribute<int64_t>("num_carry"));
  const size_t numXs = c.numOperands - n, numYs = c.results.size() - n;
  const Mask has = nonzero(tangents), hasX = part(has, n, numXs);
  Mask all;
  const Mask mask = fixpoint(part(has, 0, n), [&](Mask carries) {
    append(carries, hasX);
    all = regionHas(r, std::move(carries), has);
    return part(all, 0, n);
  });
  Mask results = mask;
  append(results, part(all, n, numYs));
  const Mask hasY = part(results, n, numYs);
  const Doubled carries{mask}, xs{hasX}, ys{hasY};
  Arrays operands = carries.operands(part<Array>(c.inputs, 0, n), part(tangents, 0, n));
  const auto numCarry = operands.size();
  append(operands, xs.operands(part<Array>(c.inputs, n, numXs), part(tangents, n, numXs)));
  Types arguments, types;
  for (size_t i = 0; i < operands.size(); ++i) {
    arguments.push_back(operands[i].type());
    if (i < numCarry)
      types.push_back(arguments.back());
    else
      arguments.back().shape.erase(arguments.back().shape.begin());
  }
  const Types yTypes = part<ArrayType>(c.results, n, numYs);
  append(types, yTypes);
  append(types, chosen(yTypes, hasY));
  const Region region{
      arguments, [&](std::span<const Array> inside) {
        auto [primals, given] = carries.open(inside.first(numCarry));
        auto [x, xTangents] = xs.open(inside.subspan(numCarry));
        append(primals, x);
        append(given, xTangents);
        const Differentiated d =
            unflat(regionJvp(r, c.inputs, tangents, std::move(primals), std::move(given), results), results);
        Arrays out = carries.operands(part<Array>(d.results, 0, n), part<MaybeZero>(d.tangents, 0, n));
        append(out, ys.operands(part<Array>(d.results, n, numYs), part<MaybeZero>(d.tangents, n, numYs)));
        return out;
      }};
  Attributes attributes = c.attributes;
  for (auto& [key, value] : attributes)
    if (key == "num_carry") value = static_cast<int64_t>(numCarry);
  const Arrays made = bindRegions(*c.op, operands, types, {&region, 1}, c.at, attributes);
  auto [primals, given] = carries.open(std::span(made).first(numCarry));
  auto [y, yTangents] = ys.open(std::span(made).subspan(numCarry));
  append(primals, y);
  append(given, yTangents);
  return {std::move(primals), std::move(given)};
}

// --- vmap ------------------------------------------------------------------------------------------------------------

using Batched = ControlRules::Batched;

Mask regionBatched(const ClosedRegion& region, Mask arguments, const Mask& inputs) {
  append(arguments, capturesOf(region, inputs));
  return dependent(*region.function, arguments, Through::everything);
}

/// The region on all examples; exactly the results in `mask` are batched.
Arrays regionBatch(const ClosedRegion& region, std::span<const Array> inputs, const Mask& isBatched, Arrays arguments,
                   Mask batchedArguments, const Mask& mask, int64_t size) {
  append(arguments, capturesOf(region, inputs));
  append(batchedArguments, capturesOf(region, isBatched));
  BatchResults made = batch(functionOf(region), arguments, batchedArguments, size);
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i] && !made.isBatched[i]) made.results[i] = spread(made.results[i], size);
  return std::move(made.results);
}

Types batchedTypes(Types types, const Mask& mask, int64_t size) {
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) types[i] = batchedType(types[i], size);
  return types;
}
Arrays batchedArrays(Arrays arrays, const Mask& is, const Mask& wanted, int64_t size) {
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] && !is[i]) arrays[i] = spread(arrays[i], size);
  return arrays;
}
/// One flag per example, with axes of size 1 for the others.
Array perExample(const Array& flags, const ArrayType& example) {
  Shape shape(example.shape.size() + 1, 1);
  shape[0] = flags.dim(0);
  return reshape(flags, shape);
}

/// A condition per example: both branches, then a choice.
Batched batchIf(const ClosedCall& c, const Mask& isBatched, int64_t size) {
  Mask mask(c.results.size(), isBatched[0]);
  for (const ClosedRegion& r : c.regions) join(mask, regionBatched(r, {}, isBatched));
  const auto branch = [&](const ClosedRegion& r) { return regionBatch(r, c.inputs, isBatched, {}, {}, mask, size); };
  if (isBatched[0]) {
    const Arrays yes = branch(c.regions[0]), no = branch(c.regions[1]);
    Arrays results;
    for (size_t i = 0; i < yes.size(); ++i)
      results.push_back(where(perExample(c.inputs[0], c.results[i]), yes[i], no[i]));
    return {std::move(results), mask};
  }
  std::vector<Region> regions;
  for (const ClosedRegion& r : c.regions) regions.push_back({{}, [&](std::span<const Array>) { return branch(r); }});
  return {bindRegions(*c.op, {c.inputs.data(), 1}, batchedTypes(c.results, mask, size), regions, c.at, c.attributes),
          mask};
}

Batched batchCheckpoint(const ClosedCall& c, const Mask& isBatched, int64_t size) {
  const ClosedRegion& r = c.regions[0];
  const Mask operands = part(isBatched, 0, c.numOperands), mask = regionBatched(r, operands, isBatched);
  const std::span<const Array> inputs = std::span(c.inputs).first(c.numOperands);
  const Region region{typesOf(inputs), [&](std::span<const Array> inside) {
                        return regionBatch(r, c.inputs, isBatched, {inside.begin(), inside.end()}, operands, mask,
                                           size);
                      }};
  return {bindRegions(*c.op, inputs, batchedTypes(c.results, mask, size), {&region, 1}, c.at, c.attributes), mask};
}

/// A while loop with one condition per example: it runs until all are done, and finished examples keep their carries.
Batched whilePerExample(const ClosedCall& c, const Mask& isBatched, int64_t size) {
  const ClosedRegion &condition = c.regions[0], &body = c.regions[1];
  const size_t n = c.results.size();
  const Mask all(n, true);
  const Arrays operands = batchedArrays(part<Array>(c.inputs, 0, n), part(isBatched, 0, n), all, size);
  const Types types = typesOf(operands);
  const auto flags = [&](std::span<const Array> inside) {
    return regionBatch(condition, c.inputs, isBatched, {inside.begin(), inside.end()}, all, {true}, size)[0];
  };
  const Region regions[] = {{types, [&](std::span<const Array> inside) { return Arrays{any(flags(inside))}; }},
                            {types, [&](std::span<const Array> inside) {
                               const Array go = flags(inside);
                               Arrays next = regionBatch(body, c.inputs, isBatched, {inside.begin(), inside.end()}, all,
                                                         all, size);
                               for (size_t i = 0; i < n; ++i)
                                 next[i] = where(perExample(go, c.results[i]), next[i], inside[i]);
                               return next;
                             }}};
  return {bindRegions(*c.op, operands, types, regions, c.at, c.attributes), all};
}

Batched batchWhile(const ClosedCall& c, const Mask& isBatched, int64_t size) {
  const ClosedRegion &condition = c.regions[0], &body = c.regions[1];
  const size_t n = c.results.size();
  const Mask mask =
      fixpoint(part(isBatched, 0, n), [&](const Mask& carries) { return regionBatched(body, carries, isBatched); });
  if (regionBatched(condition, mask, isBatched)[0]) return whilePerExample(c, isBatched, size);
  const Arrays operands = batchedArrays(part<Array>(c.inputs, 0, n), part(isBatched, 0, n), mask, size);
  const Types types = typesOf(operands);
  const auto run = [&](const ClosedRegion& r, std::span<const Array> inside, const Mask& wanted) {
    return regionBatch(r, c.inputs, isBatched, {inside.begin(), inside.end()}, mask, wanted, size);
  };
  const Region regions[] = {{types, [&](std::span<const Array> inside) { return run(condition, inside, {false}); }},
                            {types, [&](std::span<const Array> inside) { return run(body, inside, mask); }}};
  return {bindRegions(*c.op, operands, types, regions, c.at, c.attributes), mask};
}

Batched batchFor(const ClosedCall& c, const Mask& isBatched, int64_t size) {
  const ClosedRegion& r = c.regions[0];
  const size_t n = c.results.size();
  if (isBatched[0] || isBatched[1]) {  // as a while that carries the index
    const auto step = c.attribute<int64_t>("step");
    const Functional loop = [&](std::span<const Array> x) {
      Arrays carry{x[0]};
      append(carry, part(x, 2, n));
      const Arrays captured{x.begin() + 2 + static_cast<ptrdiff_t>(n), x.end()};
      Arrays results = while_loop([&](const Arrays& v) { return less(v[0], x[1]); },
                                  [&](const Arrays& v) {
                                    Arrays arguments = v;
                                    append(arguments, captured);
                                    Arrays next = replay(*r.function, arguments);
                                    next.insert(next.begin(), add(v[0], astype(step, DType::i32)));
                                    return next;
                                  },
                                  carry, c.at);
      results.erase(results.begin());
      return results;
    };
    BatchResults made = batch(loop, c.inputs, isBatched, size);
    return {std::move(made.results), std::move(made.isBatched)};
  }
  const Mask mask = fixpoint(part(isBatched, 2, n), [&](Mask carries) {
    carries.insert(carries.begin(), false);
    return regionBatched(r, std::move(carries), isBatched);
  });
  Arrays operands{c.inputs[0], c.inputs[1]};
  append(operands, batchedArrays(part<Array>(c.inputs, 2, n), part(isBatched, 2, n), mask, size));
  const Types types = typesOf(std::span(operands).subspan(2));
  Types arguments{{DType::i32, {}}};
  append(arguments, types);
  Mask inside{false};
  append(inside, mask);
  const Region region{arguments, [&](std::span<const Array> x) {
                        return regionBatch(r, c.inputs, isBatched, {x.begin(), x.end()}, inside, mask, size);
                      }};
  return {bindRegions(*c.op, operands, types, {&region, 1}, c.at, c.attributes), mask};
}

Batched batchScan(const ClosedCall& c, const Mask& isBatched, int64_t size) {
  const ClosedRegion& r = c.regions[0];
  const auto n = static_cast<size_t>(c.attribute<int64_t>("num_carry"));
  const size_t numXs = c.numOperands - n;
  const Mask xBatched = part(isBatched, n, numXs);
  Mask results;
  const Mask mask = fixpoint(part(isBatched, 0, n), [&](Mask carries) {
    append(carries, xBatched);
    results = regionBatched(r, std::move(carries), isBatched);
    return part(results, 0, n);
  });
  std::copy(mask.begin(), mask.end(), results.begin());
  Arrays operands = batchedArrays(part<Array>(c.inputs, 0, n), part(isBatched, 0, n), mask, size);
  for (size_t i = 0; i < numXs; ++i)  // steps come first in what is scanned
    operands.push_back(xBatched[i] ? moveAxis(c.inputs[n + i], 0, 1) : c.inputs[n + i]);
  Types arguments, types = batchedTypes(c.results, results, size);
  for (size_t i = 0; i < operands.size(); ++i) {
    arguments.push_back(operands[i].type());
    if (i >= n) arguments.back().shape.erase(arguments.back().shape.begin());
  }
  for (size_t i = n; i < types.size(); ++i)
    if (results[i]) std::swap(types[i].shape[0], types[i].shape[1]);
  Mask inside = mask;
  append(inside, xBatched);
  const Region region{arguments, [&](std::span<const Array> x) {
                        return regionBatch(r, c.inputs, isBatched, {x.begin(), x.end()}, inside, results, size);
                      }};
  Arrays made = bindRegions(*c.op, operands, types, {&region, 1}, c.at, c.attributes);
  for (size_t i = n; i < made.size(); ++i)
    if (results[i]) made[i] = moveAxis(made[i], 1, 0);
  return {std::move(made), std::move(results)};
}

}  // namespace

const ControlRules kIfRules{jvpIf, linearizeIf, batchIf};
const ControlRules kForRules{jvpFor, linearizeFor, batchFor};
const ControlRules kWhileRules{jvpWhile, linearizeWhile, batchWhile};
const ControlRules kScanRules{jvpScan, linearizeScan, batchScan};
const ControlRules kCheckpointRules{jvpCheckpoint, linearizeCheckpoint, batchCheckpoint};

}  // namespace smalti::lang
