#include "cpu/plan/product/Convolution.h"

#include "cpu/plan/product/ProductTypes.h"
#include "ir/Types.h"
#include "ir/facts/Constants.h"

namespace smalti::cpu {
namespace {

/// The most window positions. A copy is emitted for each, so more would bloat the code for little gain. Chosen, not
/// measured.
constexpr int64_t kMaxTaps = 64;
/// The most bytes of the copies. Chosen, not measured.
constexpr int64_t kMaxWindowBytes = 64 << 20;

/// The dimensions in another order.
Shape permuted(const Shape& shape, const Shape& order) {
  Shape out;
  for (const int64_t d : order) out.push_back(shape[static_cast<size_t>(d)]);
  return out;
}

Shape orderOf(int64_t first, llvm::ArrayRef<int64_t> spatial, std::initializer_list<int64_t> last) {
  Shape order{first};
  order.insert(order.end(), spatial.begin(), spatial.end());
  order.insert(order.end(), last);
  return order;
}

}  // namespace

bool isTruncatedInteger(DType t) { return t == DType::i8 || t == DType::i16; }

ConvDimensions::ConvDimensions(tpu::ConvOp op) : op_(op) {
  const tpu::ConvDimensionNumbersAttr n = op.getDimensionNumbers();
  lhsOrder_ = orderOf(n.getLhsBatchDim(), n.getLhsSpatialDims(), {n.getLhsFeatureDim()});
  outOrder_ = orderOf(n.getOutputBatchDim(), n.getOutputSpatialDims(), {n.getOutputFeatureDim()});
  rhsOrder_ = n.getRhsSpatialDims();
  rhsOrder_.insert(rhsOrder_.end(), {n.getRhsInputFeatureDim(), n.getRhsOutputFeatureDim()});
  lhsShape_ = permuted(shapeOf(op.getLhs().getType()), lhsOrder_);
  rhsShape_ = permuted(shapeOf(op.getRhs().getType()), rhsOrder_);
  outShape_ = permuted(shapeOf(op.getType()), outOrder_);
  spatial_ = n.getLhsSpatialDims().size();
  window_.assign(rhsShape_.begin(), rhsShape_.begin() + static_cast<ptrdiff_t>(spatial_));
  inputs_ = rhsShape_[spatial_];
  outputs_ = rhsShape_[spatial_ + 1];
  featureGroups_ = static_cast<int64_t>(op.getFeatureGroupCount());
  batchGroups_ = static_cast<int64_t>(op.getBatchGroupCount());
}

std::optional<NativeConvolution> ConvDimensions::product() const {
  const DType lhs = elementDType(op_.getLhs().getType()), rhs = elementDType(op_.getRhs().getType());
  const DType out = elementDType(op_.getType());
  NativeConvolution made{.shape = {.m = num_elements(positions()),
                                   .n = outputs_ / (featureGroups_ * batchGroups_),
                                   .k = num_elements(window_) * inputs_,
                                   .a = multipliedAs(lhs, rhs, out),
                                   .b = multipliedAs(rhs, lhs, out),
                                   // A narrow result is rounded, or cut off, once.
                                   .c = isTruncatedInteger(out) ? DType::i32 : accumulatedAs(out),
                                   .accumulate = !isZero(op_.getAcc())},
                         .leadingOfB = outputs_};
  const GemmShape& s = made.shape;
  const int64_t elements = checkedElements(windows());
  const bool isNative = multiplies(s.a, s.b, s.c) && num_elements(window_) <= kMaxTaps && elements >= 0 &&
                        elements <= kMaxWindowBytes / storage_bytes(s.a);
  return isNative ? std::optional(made) : std::nullopt;
}

std::optional<NativeConvolution> nativeConvolution(mlir::Operation& op) {
  return ConvDimensions(mlir::cast<tpu::ConvOp>(op)).product();
}

}  // namespace smalti::cpu
