// tpu.conv: windows are copied below each other, a row for each position of the result, and multiplied with the
// weights.
#include <array>

#include "cpu/emit/elements/NarrowFloats.h"
#include "cpu/product/ConvertedCopy.h"
#include "cpu/product/Product.h"
#include "ir/TpuOpsMxu.h"

namespace smalti::cpu {
namespace {

/// A copy is emitted for each window position: more positions would bloat the code for little gain.
constexpr int64_t kMaxTaps = 64;
constexpr int64_t kMaxWindowBytes = 64 << 20;

/// The dimensions of a view in another order.
Shape inOrder(const Shape& shape, const Shape& order) {
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

/// Integers that are the low bytes of an i32.
bool isCutOff(DType t) { return t == DType::i8 || t == DType::i16; }

/// The output positions along a dimension at which a window position covers an element, and these elements.
struct TapRange {
  int64_t count = 0, first = 0, step = 1, from = 0, fromStep = 1;
};

/// The dimensions of a tpu.conv, in the order of its product.
class ConvDimensions {
 public:
  explicit ConvDimensions(tpu::ConvOp op) : op_(op) {
    const tpu::ConvDimensionNumbersAttr n = op.getDimensionNumbers();
    lhsOrder_ = orderOf(n.getLhsBatchDim(), n.getLhsSpatialDims(), {n.getLhsFeatureDim()});
    outOrder_ = orderOf(n.getOutputBatchDim(), n.getOutputSpatialDims(), {n.getOutputFeatureDim()});
    rhsOrder_ = n.getRhsSpatialDims();
    rhsOrder_.insert(rhsOrder_.end(), {n.getRhsInputFeatureDim(), n.getRhsOutputFeatureDim()});
    lhsShape_ = inOrder(shapeOf(op.getLhs().getType()), lhsOrder_);
    rhsShape_ = inOrder(shapeOf(op.getRhs().getType()), rhsOrder_);
    outShape_ = inOrder(shapeOf(op.getType()), outOrder_);
    spatial_ = n.getLhsSpatialDims().size();
    window_.assign(rhsShape_.begin(), rhsShape_.begin() + static_cast<ptrdiff_t>(spatial_));
    inputs_ = rhsShape_[spatial_];
    outputs_ = rhsShape_[spatial_ + 1];
    featureGroups_ = static_cast<int64_t>(op.getFeatureGroupCount());
    batchGroups_ = static_cast<int64_t>(op.getBatchGroupCount());
  }

  /// nullopt: src/eval computes the op.
  std::optional<NativeConvolution> product() const {
    const DType lhs = elementDType(op_.getLhs().getType()), rhs = elementDType(op_.getRhs().getType());
    const DType out = elementDType(op_.getType());
    NativeConvolution made{.shape = {.m = num_elements(positions()),
                                     .n = outputs_ / (featureGroups_ * batchGroups_),
                                     .k = num_elements(window_) * inputs_,
                                     .a = multipliedAs(lhs, rhs, out),
                                     .b = multipliedAs(rhs, lhs, out),
                                     // A narrow result is rounded, or cut off, once.
                                     .c = isCutOff(out) ? DType::i32 : accumulatedAs(out),
                                     .accumulate = !isZeroConstant(op_.getAcc())},
                           .leadingOfB = outputs_};
    const GemmShape& s = made.shape;
    const int64_t elements = checkedElements(windows());
    const bool isNative = multiplies(s.a, s.b, s.c) && num_elements(window_) <= kMaxTaps && elements >= 0 &&
                          elements <= kMaxWindowBytes / storage_bytes(s.a);
    return isNative ? std::optional(made) : std::nullopt;
  }

 protected:
  /// [batch, positions…].
  Shape positions() const { return {outShape_.begin(), outShape_.end() - 1}; }
  /// [batch, positions…, window…, features].
  Shape windows() const {
    Shape all = positions();
    all.insert(all.end(), window_.begin(), window_.end());
    all.push_back(inputs_);
    return all;
  }

  mutable tpu::ConvOp op_;                ///< MLIR's accessors are not const
  Shape lhsOrder_, rhsOrder_, outOrder_;  ///< [batch, space…, features], [window…, inputs, outputs]
  Shape lhsShape_, rhsShape_, outShape_;  ///< in these orders
  Shape window_;
  size_t spatial_ = 0;
  int64_t inputs_ = 0, outputs_ = 0, featureGroups_ = 1, batchGroups_ = 1;
};

class ConvLowering : ConvDimensions {
 public:
  ConvLowering(NativeLowering& l, tpu::ConvOp op) : ConvDimensions(op), l_(l) {}

  NativeResult run(const ProductPlan& plan) {
    const DType out = elementDType(op_.getType());
    const GemmShape& shape = plan.shape;
    if (auto ok = l_.flush(); !ok) return ok;

    const View lhs = ordered(multiplied(l_, op_.getLhs(), op_.getRhs(), out), lhsOrder_);
    View weights = ordered(multiplied(l_, op_.getRhs(), op_.getLhs(), out), rhsOrder_);
    if (!isDense(weights)) weights = l_.denseCopy(weights);
    const View result = l_.allocate(shape.c, outShape_);
    if (shape.accumulate) startFrom(l_, ordered(l_.view(op_.getAcc()), outOrder_), result);

    const int64_t groups = featureGroups_ * batchGroups_, columns = outputs_ / groups;
    const View seen = l_.allocate(shape.a, windows());
    const auto group = [&](Reg g) {
      const View from = ofGroup(lhs, g);
      im2col(from, seen);
      const auto columnsOf = [&](const View& v) {
        std::vector<Reg> at(v.shape.size(), l_.index(0));
        at.back() = l_.b.CreateMul(g, l_.index(columns));
        return Rows{elementPointer(l_.b, v, at), l_.index(outputs_)};
      };
      emitProduct(l_, plan, {seen.base, l_.index(shape.k)}, columnsOf(weights), columnsOf(result));
    };
    if (groups == 1)
      group(l_.index(0));
    else
      l_.loop(l_.index(0), l_.index(groups), l_.index(1), group);
    finish(result, out);
    return {};
  }

 private:
  /// The batches and features of a group.
  View ofGroup(const View& lhs, Reg g) {
    std::vector<Reg> starts(lhs.shape.size(), l_.index(0));
    Shape sizes = lhs.shape;
    sizes.front() /= batchGroups_;
    sizes.back() /= featureGroups_;
    if (batchGroups_ > 1) starts.front() = l_.b.CreateMul(g, l_.index(sizes.front()));
    if (featureGroups_ > 1) starts.back() = l_.b.CreateMul(g, l_.index(sizes.back()));
    return slice(l_.b, lhs, starts, sizes);
  }

  TapRange along(size_t d, int64_t k) const {
    const int64_t place = op_.getWindowReversal()[d] ? window_[d] - 1 - k : k;
    const int64_t stride = op_.getWindowStrides()[d], dilation = op_.getLhsDilation()[d];
    const int64_t offset = place * op_.getRhsDilation()[d] - op_.getPadding()[2 * d];
    TapRange s;
    for (int64_t position = 0; position < outShape_[1 + d]; ++position) {
      const int64_t at = position * stride + offset;
      if (at < 0 || at % dilation != 0 || at / dilation >= lhsShape_[1 + d]) continue;
      if (s.count == 0) {
        s.first = position;
        s.from = at / dilation;
      } else if (s.count == 1) {
        s.step = position - s.first;
        s.fromStep = at / dilation - s.from;
      }
      ++s.count;
    }
    return s;
  }

  /// from: [batch, space…, features] to [batch, positions…, window…, features]. Elements outside are zero.
  void im2col(const View& from, const View& to) {
    std::vector<std::vector<TapRange>> seen(spatial_);
    bool outside = false;
    for (size_t d = 0; d < spatial_; ++d)
      for (int64_t k = 0; k < window_[d]; ++k) {
        seen[d].push_back(along(d, k));
        outside |= seen[d].back().count < outShape_[1 + d];
      }
    if (outside) l_.fill(to, zeroOf(to.dtype));
    Shape tap(spatial_, 0);
    for (int64_t left = num_elements(window_); left > 0; --left) {
      copyTap(from, to, seen, tap);
      for (size_t d = spatial_; d-- > 0; tap[d] = 0)
        if (++tap[d] < window_[d]) break;
    }
  }

  void copyTap(const View& from, const View& to, const std::vector<std::vector<TapRange>>& seen, const Shape& tap) {
    std::vector<Reg> source{l_.index(0)}, target{l_.index(0)};
    Shape sizes{from.shape.front()}, sourceSteps{1}, targetSteps{1};
    for (size_t d = 0; d < spatial_; ++d) {
      const TapRange& s = seen[d][static_cast<size_t>(tap[d])];
      if (s.count == 0) return;
      source.push_back(l_.index(s.from));
      target.push_back(l_.index(s.first));
      sizes.push_back(s.count);
      sourceSteps.push_back(s.fromStep);
      targetSteps.push_back(s.step);
    }
    Shape targetSizes = sizes;
    for (const int64_t k : tap) {
      target.push_back(l_.index(k));
      targetSizes.push_back(1);
      targetSteps.push_back(1);
    }
    source.push_back(l_.index(0));
    target.push_back(l_.index(0));
    sizes.push_back(inputs_);
    targetSizes.push_back(inputs_);
    sourceSteps.push_back(1);
    targetSteps.push_back(1);
    l_.copy(slice(l_.b, from, source, sizes, sourceSteps),
            *reshape(l_.b, slice(l_.b, to, target, targetSizes, targetSteps), sizes));
  }

  Reg zeroOf(DType t) { return llvm::Constant::getNullValue(registerType(l_.b.getContext(), t, 1)); }

  /// The sums, in [batch, positions…, features], as the op's result.
  void finish(View sums, DType out) {
    if (isCutOff(out)) {
      // The low bytes, in place.
      const int64_t apart = storage_bytes(sums.dtype) / storage_bytes(out);
      for (Reg& stride : sums.strides) stride = l_.b.CreateMul(stride, l_.index(apart));
      sums.dtype = out;
    } else if (sums.dtype != out) {
      const View rounded = l_.allocate(out, sums.shape);
      convertElements(l_, sums, rounded);
      sums = rounded;
    }
    const Shape shape = shapeOf(op_.getType());
    View result = sums;
    Shape back(outOrder_.size());
    for (size_t d = 0; d < outOrder_.size(); ++d) back[static_cast<size_t>(outOrder_[d])] = static_cast<int64_t>(d);
    result = ordered(sums, back);
    l_.setView(op_.getResult(), isDense(result) ? result : l_.denseCopy(result));
  }

  NativeLowering& l_;
};

NativeResult lowerConv(NativeLowering& l, mlir::Operation& op) {
  const ProductOpPlan* plan = l.productPlan(op);
  if (!plan) return lowerByInterpreter(l, op);
  return ConvLowering(l, mlir::cast<tpu::ConvOp>(op)).run(plan->products.at(0));
}

constexpr std::array<NativeOpRow, 1> kConvTable{{{"tpu.conv", lowerConv}}};

}  // namespace

std::optional<NativeConvolution> nativeConvolution(mlir::Operation& op) {
  return ConvDimensions(mlir::cast<tpu::ConvOp>(op)).product();
}

std::span<const NativeOpRow> convOps() { return kConvTable; }

}  // namespace smalti::cpu
