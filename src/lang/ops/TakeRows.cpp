// take: whole slices of an array along an axis, by a list of indices, and the sum that is its transposition.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "lang/ops/Indexed.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/RegionOps.h"
#include "lang/ops/Support.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/trace/Trace.h"
#include "lang/transform/rules/Support.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

using Axes64 = std::vector<int64_t>;

std::vector<Array> takeSlices(const OpCall&);
std::vector<Array> addSlices(const OpCall&);
std::vector<MaybeZero> transposeTake(const OpCall&, const Mask&, Tangents);
std::vector<MaybeZero> transposeAddSlices(const OpCall&, const Mask&, Tangents);
std::vector<Array> batchTake(const OpCall&, const Mask&, int64_t size);
std::vector<Array> batchAddSlices(const OpCall&, const Mask&, int64_t size);

std::string takeTypes(const TypedOp& op) {
  if (op.numOperands() != 2 || op.operand(1).shape.size() != 1) return "does not take an array and a list of indices";
  ArrayType expected = op.operand(0);
  const int64_t axis = op.integer("dimension", -1);
  if (axis < 0 || axis >= static_cast<int64_t>(expected.shape.size())) return fmt::format("has no axis {}", axis);
  expected.shape[axis] = op.operand(1).shape[0];
  return op.result() == expected ? "" : fmt::format("gives {} instead of {}", op.result().str(), expected.str());
}

std::string addedTypes(const TypedOp& op) {
  if (op.numOperands() != 2 || op.operand(0).shape.size() != 1) return "does not take a list of indices and updates";
  ArrayType expected = op.operand(1);
  const int64_t axis = op.integer("dimension", -1);
  if (axis < 0 || axis >= static_cast<int64_t>(expected.shape.size())) return fmt::format("has no axis {}", axis);
  if (expected.shape[axis] != op.operand(0).shape[0]) return "does not have a slice of the updates per index";
  expected.shape[axis] = op.integer("size", -1);
  return op.result() == expected ? "" : fmt::format("gives {} instead of {}", op.result().str(), expected.str());
}

constexpr OpTable kTakeOps{
    OpRecord{.name = "add_slices",
             .types = addedTypes,
             .run = addSlices,
             .expand = addSlices,
             .jvp = jvpLinearInSecond,
             .transpose = transposeAddSlices,
             .batch = batchAddSlices},
    OpRecord{.name = "take",
             .types = takeTypes,
             .run = takeSlices,
             .expand = takeSlices,
             .jvp = jvpLinearInFirst,
             .transpose = transposeTake,
             .batch = batchTake},
};
const OpFamily kTakeFamily(kTakeOps);

int64_t takenAxis(const OpCall& call) { return call.attribute<int64_t>("dimension"); }
/// Every axis but one.
Axes64 othersOf(int64_t rank, int64_t axis) {
  Axes64 others;
  for (int64_t a = 0; a < rank; ++a)
    if (a != axis) others.push_back(a);
  return others;
}
/// A column of index vectors; indices outside wrap around.
Array indexColumn(const Array& indices, int64_t size) { return reshapeTo(mod(indices, size), {indices.elements(), 1}); }

std::vector<Array> takeSlices(const OpCall& call) {
  const Array &x = call.operands[0], &indices = call.operands[1];
  const ArrayType& type = call.results[0];
  if (type.elements() == 0) return {zeros(type.shape, type.dtype)};
  const int64_t axis = takenAxis(call);
  Axes64 sizes = x.shape();
  sizes[axis] = 1;
  return {gatherElements(x, indexColumn(indices, x.shape()[axis]), type,
                         {{"offset_dims", othersOf(x.rank(), axis)},
                          {"collapsed_slice_dims", Axes64{axis}},
                          {"operand_batching_dims", Axes64{}},
                          {"start_indices_batching_dims", Axes64{}},
                          {"start_index_map", Axes64{axis}},
                          {"index_vector_dim", int64_t{1}},
                          {"slice_sizes", sizes}})};
}

std::vector<Array> addSlices(const OpCall& call) {
  const Array &indices = call.operands[0], &updates = call.operands[1];
  const ArrayType& type = call.results[0];
  const Array start = zeros(type.shape, type.dtype);
  if (updates.elements() == 0 || type.elements() == 0) return {start};
  const int64_t axis = takenAxis(call);
  return {addAt(start, indexColumn(indices, call.attribute<int64_t>("size")), updates,
                {{"update_window_dims", othersOf(updates.rank(), axis)},
                 {"inserted_window_dims", Axes64{axis}},
                 {"input_batching_dims", Axes64{}},
                 {"scatter_indices_batching_dims", Axes64{}},
                 {"scatter_dims_to_operand_dims", Axes64{axis}},
                 {"index_vector_dim", int64_t{1}}})};
}

Array boundTake(const Array& x, const Array& indices, int64_t axis) {
  ArrayType type = x.type();
  type.shape[axis] = indices.elements();
  return bind1(kTakeOps["take"], {x, indices}, type, {{"dimension", axis}});
}
Array boundAddSlices(const Array& indices, const Array& updates, int64_t axis, int64_t size) {
  ArrayType type = updates.type();
  type.shape[axis] = size;
  return bind1(kTakeOps["add_slices"], {indices, updates}, type, {{"dimension", axis}, {"size", size}});
}

std::vector<MaybeZero> transposeTake(const OpCall& call, const Mask&, Tangents ct) {
  const int64_t axis = takenAxis(call);
  return {boundAddSlices(call.operands[1], *ct[0], axis, call.operands[0].shape()[axis]), std::nullopt};
}
std::vector<MaybeZero> transposeAddSlices(const OpCall& call, const Mask&, Tangents ct) {
  return {std::nullopt, boundTake(*ct[0], call.operands[0], takenAxis(call))};
}

/// Indices of each example, [size, n], into an array of `extent` slices per example, as one list into `size * extent`.
Array jointIndices(const Array& indices, int64_t size, int64_t extent) {
  const Array first = reshape(arange(size, DType::i32) * extent, {size, 1});
  return reshapeTo(mod(indices, extent) + first, {indices.elements()});
}
/// The examples along axis 0 and an axis behind it as one axis in the place of the latter, which is numbered without
/// them; and back.
Array examplesInto(const Array& x, int64_t axis) {
  const Array moved = moveAxis(x, 0, axis);
  Shape shape = moved.shape();
  shape[axis] *= shape[axis + 1];
  shape.erase(shape.begin() + axis + 1);
  return reshapeTo(moved, shape);
}
Array examplesOutOf(const Array& x, int64_t axis, int64_t size) {
  Shape shape = x.shape();
  shape.insert(shape.begin() + axis, size);
  shape[axis + 1] /= size;
  return moveAxis(reshapeTo(x, shape), axis, 0);
}

std::vector<Array> batchTake(const OpCall& call, const Mask& isBatched, int64_t size) {
  const Array &x = call.operands[0], &indices = call.operands[1];
  const int64_t axis = takenAxis(call);
  if (!isBatched[1]) return {boundTake(x, indices, axis + 1)};
  if (!isBatched[0]) return {examplesOutOf(boundTake(x, reshapeTo(indices, {indices.elements()}), axis), axis, size)};
  const int64_t extent = x.shape()[axis + 1];
  return {examplesOutOf(boundTake(examplesInto(x, axis), jointIndices(indices, size, extent), axis), axis, size)};
}
std::vector<Array> batchAddSlices(const OpCall& call, const Mask& isBatched, int64_t size) {
  const Array &indices = call.operands[0], &updates = call.operands[1];
  const int64_t axis = takenAxis(call), extent = call.attribute<int64_t>("size");
  if (!isBatched[0]) return {boundAddSlices(indices, updates, axis + 1, extent)};
  const Array all = isBatched[1] ? updates : spread(updates, size);
  return {examplesOutOf(
      boundAddSlices(jointIndices(indices, size, extent), examplesInto(all, axis), axis, size * extent), axis, size)};
}

}  // namespace
}  // namespace smalti::lang

namespace smalti {

using lang::SourceLocationScope;

Array take(const Operand& x, const Operand& indices, int64_t axis) {
  SourceLocationScope place(x.at());
  axis = lang::checkedAxis("take", axis, x.rank());
  if (!is_integer(indices.dtype())) lang::refuseDType("take", indices.dtype(), "integer indices");
  if (x.shape()[axis] == 0 && indices.array().elements() > 0)
    lang::refuse({.code = "SM6307",
                  .message = "'take' of elements of an empty axis",
                  .place = {},
                  .need = "an axis with elements, or no indices",
                  .have = fmt::format("axis {} of {}", axis, x.array().type().str()),
                  .help = "check how the array is made"});
  Shape result = x.shape();
  result.erase(result.begin() + axis);
  result.insert(result.begin() + axis, indices.shape().begin(), indices.shape().end());
  const lang::Trace* trace = lang::Trace::current();
  if (trace && trace->kind() == lang::Trace::Kind::kernel) {  // the TPU's op has an index for each element
    Shape along(x.rank(), 1);
    along[axis] = indices.array().elements();
    return reshape(take_along_axis(x, reshape(indices, along), axis), result);
  }
  const Array list = lang::prepare(indices, DType::i32, indices.shape());
  return lang::reshapeTo(lang::boundTake(x.array(), lang::reshapeTo(list, {list.elements()}), axis), result);
}

}  // namespace smalti
