// The constraints between shapes and windows of a convolution: of tpu.conv and stablehlo.convolution.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace smalti {

/// Lists have an entry per spatial dimension, `padding` two: low, high.
struct ConvShapes {
  using Entries = std::span<const int64_t>;
  Entries lhs, rhs, result;  ///< shapes
  int64_t lhsBatch = 0, lhsFeature = 0, rhsInput = 0, rhsOutput = 0, resultBatch = 0, resultFeature = 0;
  Entries lhsSpatial, rhsSpatial, resultSpatial;
  Entries strides, padding, lhsDilation, rhsDilation;
  int64_t reversals = 0;  ///< entries of window_reversal
  int64_t featureGroups = 1, batchGroups = 1;
  bool mayBeEmpty = false;  ///< a window that does not fit gives an empty result; else it is a mistake
};

/// The error, with numbers: "needs a result of …"; empty: none.
std::string misfit(const ConvShapes&);
/// The shape that the result must have, of whose own only the rank counts. Returns the error in all else.
std::string resultOf(const ConvShapes&, std::vector<int64_t>& shape);

}  // namespace smalti
