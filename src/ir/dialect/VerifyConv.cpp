#include <fmt/format.h>

#include "ir/TpuOpsMxu.h"
#include "ir/dialect/Verify.h"
#include "ir/facts/ConvShapes.h"

namespace smalti::tpu {
namespace {

std::string typeText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
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
  return smalti::misfit({.lhs = lhs.getShape(),
                         .rhs = rhs.getShape(),
                         .result = acc.getShape(),
                         .lhsBatch = n.getLhsBatchDim(),
                         .lhsFeature = n.getLhsFeatureDim(),
                         .rhsInput = n.getRhsInputFeatureDim(),
                         .rhsOutput = n.getRhsOutputFeatureDim(),
                         .resultBatch = n.getOutputBatchDim(),
                         .resultFeature = n.getOutputFeatureDim(),
                         .lhsSpatial = n.getLhsSpatialDims(),
                         .rhsSpatial = n.getRhsSpatialDims(),
                         .resultSpatial = n.getOutputSpatialDims(),
                         .strides = getWindowStrides(),
                         .padding = getPadding(),
                         .lhsDilation = getLhsDilation(),
                         .rhsDilation = getRhsDilation(),
                         .reversals = static_cast<int64_t>(getWindowReversal().size()),
                         .featureGroups = static_cast<int64_t>(getFeatureGroupCount()),
                         .batchGroups = static_cast<int64_t>(getBatchGroupCount())});
}

llvm::LogicalResult ConvOp::verify() {
  const std::string problem = misfit();
  if (problem.empty()) return mlir::success();
  return emitOpError() << problem;
}

}  // namespace smalti::tpu
