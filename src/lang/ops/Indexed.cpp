#include "lang/ops/Indexed.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/ops/OpRecord.h"
#include "lang/ops/RegionOps.h"
#include "lang/ops/Support.h"
#include "lang/transform/rules/Moves.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

std::vector<Array> addAtIndices(const OpCall&);

std::string addedType(const TypedOp& op) {
  if (op.numOperands() != 2 || op.operand(0).shape != op.operand(1).shape)
    return "does not take indices and as many updates";
  ArrayType expected = op.operand(1);
  const int64_t axis = op.integer("dimension", -1);
  if (axis < 0 || axis >= static_cast<int64_t>(expected.shape.size())) return fmt::format("has no axis {}", axis);
  expected.shape[axis] = op.integer("size", -1);
  return op.result() == expected ? "" : fmt::format("gives {} instead of {}", op.result().str(), expected.str());
}

constexpr std::string_view kInstead =
    "only programs hold it, in place of take, take_along_axis and their transpositions";

constexpr OpTable kIndexedOps{
    OpRecord{.name = "add_along_axis",
             .types = addedType,
             .run = addAtIndices,
             .expand = addAtIndices,
             .jvp = jvpLinearInSecond,
             .transpose = transposeScatterAdd,
             .batch = batchScatterAdd},
    OpRecord{.name = "dynamic_slice",
             .jvp = jvpLinearInFirst,
             .transpose = transposeDynamicSlice,
             .batch = batchDynamicSlice},
    OpRecord{.name = "dynamic_update_slice",
             .jvp = jvpDynamicUpdateSlice,
             .transpose = transposeDynamicUpdateSlice,
             .batch = batchDynamicUpdateSlice},
    OpRecord{.name = "gather", .noJvp = kInstead, .noBatch = kInstead},
    OpRecord{.name = "pad", .jvp = jvpLinear, .transpose = transposePad, .batch = batchPad},
    OpRecord{.name = "scatter", .run = computeRegionOp, .noJvp = kInstead, .noBatch = kInstead},
};
const OpFamily kIndexedFamily(kIndexedOps);

/// A scatter of single elements; the other axes go along with those of the indices.
std::vector<Array> addAtIndices(const OpCall& call) {
  const Array &indices = call.operands[0], &updates = call.operands[1];
  const auto axis = call.attribute<int64_t>("dimension"), size = call.attribute<int64_t>("size");
  const ArrayType& type = call.results[0];
  if (updates.elements() == 0 || type.elements() == 0) return {zeros(type.shape, type.dtype)};
  Shape shape = indices.shape();
  shape.push_back(1);
  std::vector<int64_t> others;
  for (int64_t a = 0; a < indices.rank(); ++a)
    if (a != axis) others.push_back(a);
  return {addAt(zeros(type.shape, type.dtype), reshapeTo(mod(indices, size), shape), updates,
                {{"update_window_dims", std::vector<int64_t>{}},
                 {"inserted_window_dims", std::vector<int64_t>{axis}},
                 {"input_batching_dims", others},
                 {"scatter_indices_batching_dims", others},
                 {"scatter_dims_to_operand_dims", std::vector<int64_t>{axis}},
                 {"index_vector_dim", indices.rank()}})};
}

}  // namespace

Array dynamicSlices(const Array& x, std::span<const Array> starts, const Shape& sizes) {
  std::vector<Array> operands{x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  const ArrayType type{x.dtype(), sizes};
  return bind(kIndexedOps["dynamic_slice"], operands, {&type, 1}, {{"slice_sizes", sizes}})[0];
}

Array dynamicSlice(const Array& x, int64_t axis, const Array& start, int64_t size) {
  std::vector<Array> starts(x.rank(), full({}, 0, DType::i32));
  starts[axis] = start;
  Shape sizes = x.shape();
  sizes[axis] = size;
  return dynamicSlices(x, starts, sizes);
}

Array dynamicUpdateSlice(const Array& x, const Array& update, std::span<const Array> starts) {
  std::vector<Array> operands{x, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  const ArrayType type = x.type();
  return bind(kIndexedOps["dynamic_update_slice"], operands, {&type, 1})[0];
}

Array dynamicUpdate(const Array& x, const Array& update, int64_t axis, const Array& start) {
  std::vector<Array> starts(x.rank(), full({}, 0, DType::i32));
  starts[axis] = start;
  return dynamicUpdateSlice(x, update, starts);
}

Array addAlongAxis(const Array& indices, const Array& updates, int64_t axis, int64_t size) {
  ArrayType type = updates.type();
  type.shape[axis] = size;
  return bind1(kIndexedOps["add_along_axis"], {indices, updates}, type, {{"dimension", axis}, {"size", size}});
}

Array padWith(const Array& x, const Array& value, const std::vector<int64_t>& low, const std::vector<int64_t>& high,
              const std::vector<int64_t>& interior) {
  ArrayType type = x.type();
  for (size_t a = 0; a < type.shape.size(); ++a) {
    const int64_t n = type.shape[a];
    type.shape[a] = low[a] + high[a] + (n == 0 ? 0 : (n - 1) * (interior[a] + 1) + 1);
  }
  return bind1(kIndexedOps["pad"], {x, value}, type,
               {{"edge_padding_low", low}, {"edge_padding_high", high}, {"interior_padding", interior}});
}

Array addAt(const Array& x, const Array& indices, const Array& updates, Attributes numbers) {
  const std::vector<Array> operands{x, indices, updates};
  const ArrayType element{x.dtype(), {}};
  const Region region{{element, element}, [](std::span<const Array> v) { return std::vector<Array>{add(v[0], v[1])}; }};
  const Location at = Location::current();
  return bindRegions(kIndexedOps["scatter"], operands, {x.type()}, {&region, 1}, at, std::move(numbers))[0];
}

Array gatherElements(const Array& x, const Array& indices, ArrayType result, Attributes numbers) {
  return bind1(kIndexedOps["gather"], {x, indices}, std::move(result), std::move(numbers));
}

}  // namespace smalti::lang

namespace smalti {

using lang::SourceLocationScope;

namespace {

std::vector<Array> checkedStarts(std::string_view op, const Operand& x, const std::vector<Operand>& starts,
                                 const Shape& sizes) {
  bool fits = starts.size() == x.shape().size() && sizes.size() == x.shape().size();
  for (size_t a = 0; fits && a < sizes.size(); ++a) fits = sizes[a] >= 0 && sizes[a] <= x.shape()[a];
  if (!fits)
    lang::refuse({.code = "SM6307",
                  .message = fmt::format("'{}' reaches outside its operand", op),
                  .place = {},
                  .need = fmt::format("a start and a size for each axis of [{}]", fmt::join(x.shape(), ", ")),
                  .have = fmt::format("{} starts and sizes [{}]", starts.size(), fmt::join(sizes, ", ")),
                  .help = "a size of at most the axis'; starts are moved inside"});
  std::vector<Array> all;
  for (const Operand& s : starts) {
    if (s.rank() != 0 || !is_integer(s.dtype())) lang::refuseDType(op, s.dtype(), "integer scalars as starts");
    all.push_back(lang::convertTo(s.array(), DType::i32).with_weak_type(false));
  }
  return all;
}

}  // namespace

Array dynamic_slice(const Operand& x, const std::vector<Operand>& starts, Shape sizes) {
  SourceLocationScope place(x.at());
  return lang::dynamicSlices(x.array(), checkedStarts("dynamic_slice", x, starts, sizes), sizes);
}

Array dynamic_update_slice(const Operand& x, const Operand& update, const std::vector<Operand>& starts) {
  SourceLocationScope place(x.at());
  return lang::dynamicUpdateSlice(x.array(), lang::convertTo(update.array(), x.dtype()),
                                  checkedStarts("dynamic_update_slice", x, starts, update.shape()));
}

}  // namespace smalti
