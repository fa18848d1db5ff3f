#include "ir/facts/ConvShapes.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace smalti {
namespace {

using Entries = ConvShapes::Entries;

// Larger sizes, strides, dilations and paddings are not array's; products of two stay within 64 bits.
constexpr int64_t kMaxAlongDim = int64_t{1} << 31;

/// Batch and features (of rhs: input and output features), then space: each dimension of the side once.
std::string misnumbered(const char* side, Entries shape, int64_t first, int64_t second, Entries spatial) {
  std::vector<int64_t> all{first, second};
  all.insert(all.end(), spatial.begin(), spatial.end());
  std::vector<int64_t> sorted = all;
  std::sort(sorted.begin(), sorted.end());
  bool once = sorted.size() == shape.size();
  for (size_t d = 0; d < sorted.size(); ++d) once &= sorted[d] == static_cast<int64_t>(d);
  if (once) return {};
  return fmt::format("needs each of the {} dimensions of {} once in its dimension numbers, has [{}]", shape.size(),
                     side, fmt::join(all, ", "));
}

/// An attribute with `count` entries of `least` or more.
std::string misvalued(const char* name, Entries values, size_t count, int64_t least) {
  if (values.size() != count)
    return fmt::format("needs {} entries of {} for its spatial dimensions, has {}", count, name, values.size());
  for (const int64_t v : values)
    if (v < least || v > kMaxAlongDim)
      return fmt::format("needs entries of {} from {} to {}, has {}", name, least, kMaxAlongDim, v);
  return {};
}

std::string misgrouped(const char* what, int64_t groups, int64_t size) {
  if (groups < 1) return fmt::format("needs a {} of 1 or more, has {}", what, groups);
  if (size % groups != 0) return fmt::format("needs a {} that divides {}, has {}", what, size, groups);
  return {};
}

std::string shapeText(Entries shape) { return fmt::format("{}", fmt::join(shape, "x")); }

}  // namespace

std::string resultOf(const ConvShapes& c, std::vector<int64_t>& shape) {
  const size_t spatial = c.lhsSpatial.size();
  for (const std::string& problem :
       {misnumbered("lhs", c.lhs, c.lhsBatch, c.lhsFeature, c.lhsSpatial),
        misnumbered("rhs", c.rhs, c.rhsInput, c.rhsOutput, c.rhsSpatial),
        misnumbered("the result", c.result, c.resultBatch, c.resultFeature, c.resultSpatial)})
    if (!problem.empty()) return problem;
  if (c.rhs.size() != c.lhs.size() || c.result.size() != c.lhs.size())
    return fmt::format("needs operands of one rank, has {}, {} and {}", c.lhs.size(), c.rhs.size(), c.result.size());
  for (const std::string& problem :
       {misvalued("window_strides", c.strides, spatial, 1), misvalued("padding", c.padding, 2 * spatial, -kMaxAlongDim),
        misvalued("lhs_dilation", c.lhsDilation, spatial, 1), misvalued("rhs_dilation", c.rhsDilation, spatial, 1)})
    if (!problem.empty()) return problem;
  if (c.reversals != static_cast<int64_t>(spatial))
    return fmt::format("needs {} entries of window_reversal for its spatial dimensions, has {}", spatial, c.reversals);
  for (const Entries shape : {c.lhs, c.rhs, c.result})
    for (const int64_t size : shape)
      if (size > kMaxAlongDim) return fmt::format("needs sizes of at most {}, has {}", kMaxAlongDim, size);

  const int64_t batch = c.lhs[c.lhsBatch], features = c.lhs[c.lhsFeature];
  const int64_t inputs = c.rhs[c.rhsInput], outputs = c.rhs[c.rhsOutput];
  for (const std::string& problem :
       {misgrouped("feature_group_count", c.featureGroups, features),
        misgrouped("feature_group_count", c.featureGroups, outputs),
        misgrouped("batch_group_count", c.batchGroups, batch), misgrouped("batch_group_count", c.batchGroups, outputs)})
    if (!problem.empty()) return problem;
  if (c.featureGroups > 1 && c.batchGroups > 1)
    return fmt::format("needs groups of features or of batches, has {} and {}", c.featureGroups, c.batchGroups);
  if (inputs != features / c.featureGroups)
    return fmt::format("needs {} input features of rhs ({} of lhs in {} groups), has {}", features / c.featureGroups,
                       features, c.featureGroups, inputs);

  shape.assign(c.result.size(), 0);
  shape[static_cast<size_t>(c.resultBatch)] = batch / c.batchGroups;
  shape[static_cast<size_t>(c.resultFeature)] = outputs;
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t size = c.lhs[c.lhsSpatial[d]], window = c.rhs[c.rhsSpatial[d]];
    const int64_t dilated = size == 0 ? 0 : (size - 1) * c.lhsDilation[d] + 1;
    const int64_t padded = dilated + c.padding[2 * d] + c.padding[2 * d + 1];
    const int64_t reach = window == 0 ? 0 : (window - 1) * c.rhsDilation[d] + 1;
    const bool fits = padded >= 0 && padded >= reach;
    if (!fits && !c.mayBeEmpty)
      return fmt::format("needs a window within the padded lhs, has {} of {} along spatial dimension {}", reach, padded,
                         d);
    shape[static_cast<size_t>(c.resultSpatial[d])] = fits ? (padded - reach) / c.strides[d] + 1 : 0;
  }
  return {};
}

std::string misfit(const ConvShapes& c) {
  std::vector<int64_t> shape;
  if (std::string problem = resultOf(c, shape); !problem.empty()) return problem;
  if (!std::equal(c.result.begin(), c.result.end(), shape.begin(), shape.end()))
    return fmt::format("needs a result of shape {}, has {}", shapeText(shape), shapeText(c.result));
  return {};
}

}  // namespace smalti
