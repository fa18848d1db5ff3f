#include "lang/transform/rules/Moves.h"

#include <algorithm>

#include "lang/ops/Indexed.h"
#include "lang/ops/Roll.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

using Axes64 = std::vector<int64_t>;

/// Zeros around and between the elements. A kernel has no op for it, and joins pieces where none come between.
Array padded(const Array& x, const Axes64& low, const Axes64& high, const Axes64& interior) {
  const bool joins = std::all_of(interior.begin(), interior.end(), [](int64_t i) { return i == 0; });
  if (const Trace* trace = Trace::current(); joins && trace && trace->kind() == Trace::Kind::kernel) {
    std::vector<std::pair<int64_t, int64_t>> widths;
    for (size_t a = 0; a < low.size(); ++a) widths.emplace_back(low[a], high[a]);
    return pad(x, widths);
  }
  return padWith(x, full({}, 0, x.dtype()), low, high, interior);
}

Attributes with(const OpCall& call, std::string_view name, Attribute value) {
  Attributes all = call.attributes;
  for (auto& [key, old] : all)
    if (key == name) old = value;
  return all;
}
Axes64 prepended(Axes64 list, int64_t first) {
  list.insert(list.begin(), first);
  return list;
}
std::vector<Array> startsOf(const OpCall& call, size_t from) {
  return {call.operands.begin() + static_cast<ptrdiff_t>(from), call.operands.end()};
}
Array zeroIndex() { return full({}, 0, DType::i32); }

/// start[b] + 0, 1, …, count - 1, with axes of size 1 for all others than 0 and `axis`.
Array positions(const Array& start, int64_t count, int64_t axis, int64_t rank) {
  Shape ones(rank, 1), along = ones;
  ones[0] = start.dim(0);
  along[axis] = count;
  return reshape(start, ones) + reshape(arange(count, DType::i32), along);
}

}  // namespace

#define SMALTI_TRANSPOSE(name) \
  std::vector<MaybeZero> name(const OpCall& call, [[maybe_unused]] const Mask& isLinear, Tangents ct)
#define SMALTI_BATCH(name) \
  std::vector<Array> name(const OpCall& call, [[maybe_unused]] const Mask& isBatched, [[maybe_unused]] int64_t size)

SMALTI_TRANSPOSE(transposeReshape) { return {reshapeTo(*ct[0], call.operands[0].shape())}; }
SMALTI_BATCH(batchReshape) { return {reshapeTo(call.operands[0], batchedType(call.results[0], size).shape)}; }

SMALTI_TRANSPOSE(transposeBroadcastInDim) {
  const auto& dims = call.attribute<Axes64>("broadcast_dimensions");
  const Shape &from = call.operands[0].shape(), &to = call.results[0].shape;
  Axes64 gone;
  for (int64_t a = 0; a < static_cast<int64_t>(to.size()); ++a) {
    const auto at = std::find(dims.begin(), dims.end(), a);
    if (at == dims.end() || (from[at - dims.begin()] == 1 && to[a] != 1)) gone.push_back(a);
  }
  const Array total = gone.empty() ? *ct[0] : sum(*ct[0], Axes{gone});
  return {reshapeTo(total, from)};
}
SMALTI_BATCH(batchBroadcastInDim) {
  const auto dims = prepended(shifted(call.attribute<Axes64>("broadcast_dimensions")), 0);
  return bindWith(call, call.operands, batchedType(call.results[0], size), {{"broadcast_dimensions", dims}});
}

SMALTI_TRANSPOSE(transposeTranspose) {
  const auto& permutation = call.attribute<Axes64>("permutation");
  Axes64 inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = static_cast<int64_t>(i);
  return {transpose(*ct[0], inverse)};
}
SMALTI_BATCH(batchTranspose) {
  return {transpose(call.operands[0], prepended(shifted(call.attribute<Axes64>("permutation")), 0))};
}

SMALTI_TRANSPOSE(transposeSlice) {
  const auto &starts = call.attribute<Axes64>("start_indices"), &strides = call.attribute<Axes64>("strides");
  const Shape &from = call.operands[0].shape(), &to = call.results[0].shape;
  Axes64 high, interior;
  for (size_t a = 0; a < from.size(); ++a) {
    high.push_back(to[a] == 0 ? from[a] - starts[a] : from[a] - starts[a] - (to[a] - 1) * strides[a] - 1);
    interior.push_back(strides[a] - 1);
  }
  if (std::find(to.begin(), to.end(), 0) != to.end()) return {zeros(from, ct[0]->dtype())};
  return {padded(*ct[0], starts, high, interior)};
}
SMALTI_BATCH(batchSlice) {
  return {slice(call.operands[0], prepended(call.attribute<Axes64>("start_indices"), 0),
                prepended(call.attribute<Axes64>("limit_indices"), size),
                prepended(call.attribute<Axes64>("strides"), 1))};
}

SMALTI_TRANSPOSE(transposeConcatenate) {
  const auto axis = call.attribute<int64_t>("dimension");
  Axes64 starts(call.results[0].shape.size(), 0), limits = call.results[0].shape;
  std::vector<MaybeZero> all;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    limits[axis] = starts[axis] + call.operands[i].shape()[axis];
    all.push_back(isLinear[i] ? MaybeZero(slice(*ct[0], starts, limits)) : std::nullopt);
    starts[axis] = limits[axis];
  }
  return all;
}
SMALTI_BATCH(batchConcatenate) {
  return bindWith(call, spreadAll(call.operands, isBatched, size), batchedType(call.results[0], size),
                  {{"dimension", call.attribute<int64_t>("dimension") + 1}});
}

SMALTI_TRANSPOSE(transposePad) {
  const auto &low = call.attribute<Axes64>("edge_padding_low"), &interior = call.attribute<Axes64>("interior_padding");
  const Shape& from = call.operands[0].shape();
  Axes64 limits, strides;
  for (size_t a = 0; a < from.size(); ++a) {
    strides.push_back(interior[a] + 1);
    limits.push_back(from[a] == 0 ? low[a] : low[a] + (from[a] - 1) * strides[a] + 1);
  }
  const Array inside = slice(*ct[0], low, limits, strides);
  return {isLinear[0] ? MaybeZero(inside) : std::nullopt,
          isLinear[1] ? MaybeZero(sum(*ct[0]) - sum(inside)) : std::nullopt};
}
SMALTI_BATCH(batchPad) {
  const auto low = prepended(call.attribute<Axes64>("edge_padding_low"), 0),
             high = prepended(call.attribute<Axes64>("edge_padding_high"), 0),
             interior = prepended(call.attribute<Axes64>("interior_padding"), 0);
  const Array x = isBatched[0] ? call.operands[0] : spread(call.operands[0], size);
  if (!isBatched[1]) return {padWith(x, call.operands[1], low, high, interior)};
  const Array inside = padWith(ones(x.shape(), DType::pred), full({}, false), low, high, interior),
              moved = padWith(x, full({}, 0, x.dtype()), low, high, interior);
  Shape each(x.rank(), 1);
  each[0] = size;
  return {where(inside, moved, reshape(call.operands[1], each))};
}

SMALTI_TRANSPOSE(transposeDynamicSlice) {
  std::vector<MaybeZero> all(call.operands.size());
  all[0] = dynamicUpdateSlice(zeros(call.operands[0].shape(), ct[0]->dtype()), *ct[0], startsOf(call, 1));
  return all;
}
SMALTI_BATCH(batchDynamicSlice) {
  const auto& sizes = call.attribute<Axes64>("slice_sizes");
  const Array x = isBatched[0] ? call.operands[0] : spread(call.operands[0], size);
  std::vector<Array> shared{zeroIndex()};
  Axes64 some{size};
  for (size_t a = 0; a < sizes.size(); ++a) {
    shared.push_back(isBatched[a + 1] ? zeroIndex() : call.operands[a + 1]);
    some.push_back(isBatched[a + 1] ? x.shape()[a + 1] : sizes[a]);
  }
  Array result = some == x.shape() ? x : dynamicSlices(x, shared, some);
  for (size_t a = 0; a < sizes.size(); ++a)
    if (isBatched[a + 1]) {
      const auto axis = static_cast<int64_t>(a) + 1;
      const Array start = clip(call.operands[a + 1], 0, x.shape()[axis] - sizes[a]);
      result = take_along_axis(result, positions(start, sizes[a], axis, x.rank()), axis);
    }
  return {result};
}

Differentiated jvpDynamicUpdateSlice(const OpCall& call, Tangents tangents) {
  const Array t = dynamicUpdateSlice(instantiated(tangents[0], call.operands[0].type()),
                                     instantiated(tangents[1], call.operands[1].type()), startsOf(call, 2));
  return {{primalOf(call)}, {t}};
}
SMALTI_TRANSPOSE(transposeDynamicUpdateSlice) {
  std::vector<MaybeZero> all(call.operands.size());
  const Array& update = call.operands[1];
  if (isLinear[0]) all[0] = dynamicUpdateSlice(*ct[0], zeros(update.shape(), ct[0]->dtype()), startsOf(call, 2));
  if (isLinear[1]) all[1] = dynamicSlices(*ct[0], startsOf(call, 2), update.shape());
  return all;
}
SMALTI_BATCH(batchDynamicUpdateSlice) {
  const Array x = isBatched[0] ? call.operands[0] : spread(call.operands[0], size),
              update = isBatched[1] ? call.operands[1] : spread(call.operands[1], size);
  if (std::find(isBatched.begin() + 2, isBatched.end(), true) == isBatched.end()) {
    std::vector<Array> starts = startsOf(call, 2);
    starts.insert(starts.begin(), zeroIndex());
    return {dynamicUpdateSlice(x, update, starts)};
  }
  // Each element of the result looks where it is in the update.
  Array values = update, inside = ones({}, DType::pred);
  for (int64_t a = 1; a < x.rank(); ++a) {
    const int64_t n = x.shape()[a], k = update.shape()[a];
    const Array start = clip(call.operands[a + 1], 0, n - k);
    const Array at = positions(isBatched[a + 1] ? -start : spread(-start, size), n, a, x.rank());
    inside = logical_and(inside, logical_and(at >= 0, at < k));
    values = take_along_axis(values, clip(at, 0, std::max<int64_t>(k - 1, 0)), a);
  }
  return {where(inside, values, x)};
}

SMALTI_TRANSPOSE(transposeTakeAlongAxis) {
  const auto axis = call.attribute<int64_t>("dimension");
  return {addAlongAxis(call.operands[1], *ct[0], axis, call.operands[0].shape()[axis]), std::nullopt};
}
SMALTI_BATCH(batchTakeAlongAxis) {
  return bindWith(call, spreadAll(call.operands, isBatched, size), batchedType(call.results[0], size),
                  {{"dimension", call.attribute<int64_t>("dimension") + 1}});
}
SMALTI_TRANSPOSE(transposeScatterAdd) {
  return {std::nullopt, take_along_axis(*ct[0], call.operands[0], call.attribute<int64_t>("dimension"))};
}
SMALTI_BATCH(batchScatterAdd) {
  return bindWith(call, spreadAll(call.operands, isBatched, size), batchedType(call.results[0], size),
                  {{"dimension", call.attribute<int64_t>("dimension") + 1}, {"size", call.attribute<int64_t>("size")}});
}

SMALTI_TRANSPOSE(transposeRoll) {
  const auto axis = call.attribute<int64_t>("dimension");
  const Shape& shape = call.results[0].shape;
  const int64_t n = shape[axis];
  if (n == 0) return {*ct[0], std::nullopt};
  if (!isStrided(call)) return {roll(*ct[0], n - mod(call.operands[1], n), axis), std::nullopt};
  return {addAlongAxis(rollSources(call, shape, axis, call.operands[1]), *ct[0], axis, n), std::nullopt};
}
SMALTI_BATCH(batchRoll) {
  const auto axis = call.attribute<int64_t>("dimension") + 1;
  const Array x = isBatched[0] ? call.operands[0] : spread(call.operands[0], size);
  if (!isBatched[1]) {
    Attributes attributes = with(call, "dimension", axis);
    for (auto& [key, value] : attributes)
      if (key == "stride_dimension") value = std::get<int64_t>(value) + 1;
    return bindWith(call, std::vector<Array>{x, call.operands[1]}, batchedType(call.results[0], size), attributes);
  }
  if (x.elements() == 0) return {x};
  Shape each(x.rank(), 1);
  each[0] = size;
  return {take_along_axis(x, rollSources(call, x.shape(), axis, reshape(call.operands[1], each)), axis)};
}

}  // namespace smalti::lang
