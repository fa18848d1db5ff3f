// convolution: the windows and products of eval/Conv.h.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/MaxDimensions.h"
#include "eval/Conv.h"
#include "plain/PlainEvaluators.h"

namespace smalti::plain {
namespace {

/// Is there nothing to sum: a window or input features of size 0?
bool sumsNothing(const Array& weights, int64_t outputFeature) {
  for (int64_t d = 0; d < static_cast<int64_t>(weights.shape().size()); ++d)
    if (d != outputFeature && weights.shape()[d] == 0) return true;
  return false;
}

PlainResults convolution(PlainCall& call) {
  const TypedOp op = call.typed();
  const int64_t outputFeature = op.integer("kernel_output_feature_dimension");
  if (num_elements(call.results[0].shape) == 0 || sumsNothing(call.operands[1], outputFeature)) {
    auto result = Array::allocate(call.results[0]);
    if (!result) return fail(std::move(result.error()));
    std::memset(result->data(), 0, static_cast<size_t>(result->bytes()));
    return one(std::move(*result));
  }
  const auto spatial = op.integers("input_spatial_dimensions");
  const size_t n = spatial.size();
  const Shape strides = op.entries("window_strides", n, 1), padding = op.entries("padding", 2 * n, 0);
  const Shape lhsDilation = op.entries("lhs_dilation", n, 1), rhsDilation = op.entries("rhs_dilation", n, 1);
  std::array<bool, kMaxDimensions> reversed{};
  std::ranges::copy(op.integers("window_reversal"), reversed.begin());
  const eval::ConvDims dims{.lhsBatch = op.integer("input_batch_dimension"),
                            .lhsFeature = op.integer("input_feature_dimension"),
                            .rhsInput = op.integer("kernel_input_feature_dimension"),
                            .rhsOutput = outputFeature,
                            .outBatch = op.integer("output_batch_dimension"),
                            .outFeature = op.integer("output_feature_dimension"),
                            .lhsSpatial = spatial,
                            .rhsSpatial = op.integers("kernel_spatial_dimensions"),
                            .outSpatial = op.integers("output_spatial_dimensions"),
                            .strides = strides,
                            .padding = padding,
                            .lhsDilation = lhsDilation,
                            .rhsDilation = rhsDilation,
                            .reversed = reversed,
                            .featureGroups = op.integer("feature_group_count", 1),
                            .batchGroups = op.integer("batch_group_count", 1)};
  const auto multiply = [&](eval::Input lhs, eval::Input rhs, eval::Input acc, eval::Output to) {
    return eval::conv(lhs, rhs, dims, acc, to, dotNumerics(call), is_unsigned_integer(lhs.dtype),
                      is_unsigned_integer(rhs.dtype));
  };
  if (dims.lhsBatch != 0 || dims.outBatch != 0 || dims.batchGroups != 1) return product(call, multiply);
  const Array& weights = call.operands[1];
  const int64_t depth = weights.elements() / weights.shape()[outputFeature];
  return product(call, sharedRows(call.share, {.lhs = true, .rhs = false}, depth, 1, multiply));
}

constexpr std::array kConvolutionEvaluators{EvaluatorRow{"convolution", convolution}};

}  // namespace

std::span<const EvaluatorRow> convolutionEvaluators() { return kConvolutionEvaluators; }

}  // namespace smalti::plain
