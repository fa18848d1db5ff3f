// Ops that make, move and cut arrays.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/RowMajor.h"
#include "eval/FloatFormats.h"
#include "eval/Shape.h"
#include "plain/PlainEvaluators.h"

namespace smalti::plain {
namespace {

PlainResults constant(PlainCall& call) {
  const Array& value = std::get<Array>(*call.op.find("value"));
  if (value.type() == call.results[0]) return one(value);
  auto result = resultArray(call);
  if (!result) return fail(std::move(result.error()));
  eval::fill(result->data(), value.data(), result->elements(), storage_bytes(value.dtype()));
  return one(std::move(*result));
}

/// An unwritten array: zeros, as jax.lax.empty is outside of a TPU.
PlainResults allocateBuffer(PlainCall& call) {
  auto result = resultArray(call);
  if (!result) return fail(std::move(result.error()));
  std::memset(result->data(), 0, static_cast<size_t>(result->bytes()));
  return one(std::move(*result));
}

PlainResults iota(PlainCall& call) {
  const ArrayType& type = call.results[0];
  auto result = Array::allocate({part_of(type.dtype), type.shape});
  if (!result) return fail(std::move(result.error()));
  const int64_t dim = call.typed().integer("iota_dimension");
  eval::iota({&dim, 1}, out(*result));
  if (!is_complex(type.dtype)) return one(std::move(*result));
  const auto imaginary = partOf(*result, true);
  auto numbers = imaginary ? complexOf(*result, *imaginary) : imaginary;
  if (!numbers) return fail(std::move(numbers.error()));
  return one(std::move(*numbers));
}

PlainResults reshape(PlainCall& call) {
  auto result = call.operands[0].reshaped(call.results[0].shape);
  if (!result) return fail(std::move(result.error()));
  return one(std::move(*result));
}

PlainResults broadcastInDim(PlainCall& call) {
  if (call.operands[0].type() == call.results[0]) return one(std::move(call.operands[0]));
  auto result = resultArray(call);
  if (!result) return fail(std::move(result.error()));
  if (result->elements() > 0)
    eval::broadcastInDim(in(call.operands[0]), call.typed().integers("broadcast_dimensions"), out(*result));
  return one(std::move(*result));
}

PlainResults transpose(PlainCall& call) {
  auto result = resultArray(call);
  if (!result) return fail(std::move(result.error()));
  if (result->elements() > 0) eval::transpose(in(call.operands[0]), call.typed().integers("permutation"), out(*result));
  return one(std::move(*result));
}

PlainResults sliced(PlainCall& call, std::span<const int64_t> starts, std::span<const int64_t> strides) {
  auto result = resultArray(call);
  if (!result) return fail(std::move(result.error()));
  if (result->elements() > 0) eval::slice(in(call.operands[0]), starts, strides, out(*result));
  return one(std::move(*result));
}

PlainResults slice(PlainCall& call) {
  return sliced(call, call.typed().integers("start_indices"), call.typed().integers("strides"));
}

PlainResults reverse(PlainCall& call) {
  const Shape& shape = call.results[0].shape;
  std::vector<int64_t> starts(shape.size(), 0), strides(shape.size(), 1);
  for (const int64_t d : call.typed().integers("dimensions")) {
    starts[d] = shape[d] - 1;
    strides[d] = -1;
  }
  return sliced(call, starts, strides);
}

/// Start indices, clamped so that the window is inside the array.
std::vector<int64_t> clampedStarts(const PlainCall& call, int first, const Shape& shape, const Shape& window) {
  std::vector<int64_t> starts;
  for (size_t d = 0; d < shape.size(); ++d)
    starts.push_back(std::clamp<int64_t>(indexAt(call.operands[first + d], 0), 0, shape[d] - window[d]));
  return starts;
}

PlainResults dynamicSlice(PlainCall& call) {
  const Shape& shape = call.operands[0].shape();
  return sliced(call, clampedStarts(call, 1, shape, call.results[0].shape), std::vector<int64_t>(shape.size(), 1));
}

PlainResults dynamicUpdateSlice(PlainCall& call) {
  const Array& update = call.operands[1];
  const Shape shape = call.operands[0].shape();
  const auto starts = clampedStarts(call, 2, shape, update.shape());
  Array result = std::move(call.operands[0]);
  if (!result.unique()) {
    auto copy = result.clone();
    if (!copy) return fail(std::move(copy.error()));
    result = std::move(*copy);
  }
  const auto strides = rowMajorStrides(shape);
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) offset += starts[d] * strides[d];
  const int bytes = storage_bytes(result.dtype());
  if (update.elements() > 0)
    eval::copyStrided(update.data(), rowMajorStrides(update.shape()), result.data() + offset * bytes, strides,
                      update.shape(), bytes);
  return one(std::move(result));
}

PlainResults concatenate(PlainCall& call) {
  auto result = resultArray(call);
  if (!result) return fail(std::move(result.error()));
  std::vector<eval::Input> inputs;
  for (const Array& a : call.operands)
    if (a.elements() > 0) inputs.push_back(in(a));
  if (!inputs.empty()) eval::concatenate(inputs, static_cast<int>(call.typed().integer("dimension")), out(*result));
  return one(std::move(*result));
}

PlainResults pad(PlainCall& call) {
  auto result = resultArray(call);
  if (!result) return fail(std::move(result.error()));
  if (result->elements() > 0)
    eval::pad(in(call.operands[0]), call.operands[1].data(), call.typed().integers("edge_padding_low"),
              call.typed().integers("interior_padding"), out(*result));
  return one(std::move(*result));
}

/// partition_id: the device's number; replica_id: 0, devices differ in partition.
PlainResults deviceId(PlainCall& call) {
  auto result = resultArray(call);
  if (!result) return fail(std::move(result.error()));
  *result->as<uint32_t>() = call.op.name == "partition_id" ? static_cast<uint32_t>(call.device) : 0;
  return one(std::move(*result));
}

constexpr std::array kShapeEvaluators{
    EvaluatorRow{"AllocateBuffer", allocateBuffer},
    EvaluatorRow{"broadcast_in_dim", broadcastInDim},
    EvaluatorRow{"concatenate", concatenate},
    EvaluatorRow{"constant", constant},
    EvaluatorRow{"dynamic_slice", dynamicSlice},
    EvaluatorRow{"dynamic_update_slice", dynamicUpdateSlice},
    EvaluatorRow{"iota", iota},
    EvaluatorRow{"pad", pad},
    EvaluatorRow{"partition_id", deviceId},
    EvaluatorRow{"replica_id", deviceId},
    EvaluatorRow{"reshape", reshape},
    EvaluatorRow{"reverse", reverse},
    EvaluatorRow{"slice", slice},
    EvaluatorRow{"transpose", transpose},
};

}  // namespace

std::span<const EvaluatorRow> shapeEvaluators() { return kShapeEvaluators; }

}  // namespace smalti::plain
