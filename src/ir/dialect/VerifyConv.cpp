#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/TpuOpsMxu.h"
#include "ir/dialect/Verify.h"

namespace smalti::tpu {
namespace {

using Entries = llvm::ArrayRef<int64_t>;

std::string typeText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

// Larger sizes, strides, dilations and paddings are no array's; products of two stay within 64 bits.
constexpr int64_t kMostAlongDim = int64_t{1} << 31;

/// Batch and features (of rhs: input and output features), then space: each dimension of the side once.
std::string misnumbered(const char* side, Entries shape, int64_t first, int64_t second, Entries spatial) {
  llvm::SmallVector<int64_t> all{first, second};
  all.append(spatial.begin(), spatial.end());
  llvm::SmallVector<int64_t> sorted = all;
  llvm::sort(sorted);
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
    if (v < least || v > kMostAlongDim)
      return fmt::format("needs entries of {} from {} to {}, has {}", name, least, kMostAlongDim, v);
  return {};
}

std::string misgrouped(const char* what, int64_t groups, int64_t size) {
  if (groups < 1) return fmt::format("needs a {} of 1 or more, has {}", what, groups);
  if (size % groups != 0) return fmt::format("needs a {} that divides {}, has {}", what, size, groups);
  return {};
}

}  // namespace

std::string ConvOp::misfit() {
  const auto typeOf = [](mlir::Value v) { return mlir::cast<mlir::VectorType>(v.getType()); };
  const auto isInteger = [](mlir::VectorType t) { return mlir::isa<mlir::IntegerType>(t.getElementType()); };
  const mlir::VectorType lhs = typeOf(getLhs()), rhs = typeOf(getRhs()), acc = typeOf(getAcc());
  // As in a product, integers times floats are a product of floats; but JAX gives acc the result's dtype, which may be
  // narrow.
  if (const bool integers = isInteger(lhs) && isInteger(rhs); integers != isInteger(acc))
    return fmt::format("needs an accumulator of {}, has '{}'", integers ? "integers" : "floats", typeText(acc));

  const ConvDimensionNumbersAttr n = getDimensionNumbers();
  const size_t spatial = n.getLhsSpatialDims().size();
  for (const std::string& problem :
       {misnumbered("lhs", lhs.getShape(), n.getLhsBatchDim(), n.getLhsFeatureDim(), n.getLhsSpatialDims()),
        misnumbered("rhs", rhs.getShape(), n.getRhsInputFeatureDim(), n.getRhsOutputFeatureDim(),
                    n.getRhsSpatialDims()),
        misnumbered("the result", acc.getShape(), n.getOutputBatchDim(), n.getOutputFeatureDim(),
                    n.getOutputSpatialDims())})
    if (!problem.empty()) return problem;
  if (rhs.getRank() != lhs.getRank() || acc.getRank() != lhs.getRank())
    return fmt::format("needs operands of one rank, has {}, {} and {}", lhs.getRank(), rhs.getRank(), acc.getRank());
  for (const std::string& problem : {misvalued("window_strides", getWindowStrides(), spatial, 1),
                                     misvalued("padding", getPadding(), 2 * spatial, -kMostAlongDim),
                                     misvalued("lhs_dilation", getLhsDilation(), spatial, 1),
                                     misvalued("rhs_dilation", getRhsDilation(), spatial, 1)})
    if (!problem.empty()) return problem;
  if (getWindowReversal().size() != spatial)
    return fmt::format("needs {} entries of window_reversal for its spatial dimensions, has {}", spatial,
                       getWindowReversal().size());
  for (const mlir::VectorType t : {lhs, rhs, acc})
    for (const int64_t size : t.getShape())
      if (size > kMostAlongDim) return fmt::format("needs sizes of at most {}, has {}", kMostAlongDim, size);

  const int64_t batch = lhs.getDimSize(static_cast<unsigned>(n.getLhsBatchDim()));
  const int64_t features = lhs.getDimSize(static_cast<unsigned>(n.getLhsFeatureDim()));
  const int64_t inputs = rhs.getDimSize(static_cast<unsigned>(n.getRhsInputFeatureDim()));
  const int64_t outputs = rhs.getDimSize(static_cast<unsigned>(n.getRhsOutputFeatureDim()));
  const auto featureGroups = static_cast<int64_t>(getFeatureGroupCount());
  const auto batchGroups = static_cast<int64_t>(getBatchGroupCount());
  for (const std::string& problem :
       {misgrouped("feature_group_count", featureGroups, features),
        misgrouped("feature_group_count", featureGroups, outputs), misgrouped("batch_group_count", batchGroups, batch),
        misgrouped("batch_group_count", batchGroups, outputs)})
    if (!problem.empty()) return problem;
  if (featureGroups > 1 && batchGroups > 1)
    return fmt::format("needs groups of features or of batches, has {} and {}", featureGroups, batchGroups);
  if (inputs != features / featureGroups)
    return fmt::format("needs {} input features of rhs ({} of lhs in {} groups), has {}", features / featureGroups,
                       features, featureGroups, inputs);

  llvm::SmallVector<int64_t> shape(acc.getShape().size());
  shape[static_cast<size_t>(n.getOutputBatchDim())] = batch / batchGroups;
  shape[static_cast<size_t>(n.getOutputFeatureDim())] = outputs;
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t size = lhs.getDimSize(static_cast<unsigned>(n.getLhsSpatialDims()[d]));
    const int64_t window = rhs.getDimSize(static_cast<unsigned>(n.getRhsSpatialDims()[d]));
    const int64_t padded = (size - 1) * getLhsDilation()[d] + 1 + getPadding()[2 * d] + getPadding()[2 * d + 1];
    const int64_t reach = (window - 1) * getRhsDilation()[d] + 1;
    if (padded < reach)
      return fmt::format("needs a window within the padded lhs, has {} of {} along spatial dimension {}", reach, padded,
                         d);
    shape[static_cast<size_t>(n.getOutputSpatialDims()[d])] = (padded - reach) / getWindowStrides()[d] + 1;
  }
  if (acc.getShape() != llvm::ArrayRef(shape))
    return fmt::format("needs a result of shape {}, has {}", shapeText(shape), shapeText(acc.getShape()));
  return {};
}

llvm::LogicalResult ConvOp::verify() {
  const std::string problem = misfit();
  if (problem.empty()) return mlir::success();
  return emitOpError() << problem;
}

}  // namespace smalti::tpu
