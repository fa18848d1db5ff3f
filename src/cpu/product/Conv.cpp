// tpu.conv: windows are copied to the rows of a matrix, one for each position of the result, and multiplied with the
// weights.
#include <array>

#include "cpu/emit/elements/NarrowFloats.h"
#include "cpu/emit/ops/OpTables.h"
#include "cpu/plan/product/Convolution.h"
#include "cpu/product/ConvertedCopy.h"
#include "cpu/product/Product.h"
#include "ir/TpuOpsMxu.h"

namespace smalti::cpu {
namespace {

/// The output positions along a dimension at which a window position covers an element, and these elements.
struct TapRange {
  int64_t count = 0, first = 0, step = 1, from = 0, fromStep = 1;
};

class ConvLowering : ConvDimensions {
 public:
  ConvLowering(NativeLowering& l, tpu::ConvOp op) : ConvDimensions(op), l_(l) {}

  NativeResult run(const ProductPlan& plan) {
    const DType out = elementDType(op_.getType());
    const GemmShape& shape = plan.shape;
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
    if (isTruncatedInteger(out)) {
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
  return ConvLowering(l, mlir::cast<tpu::ConvOp>(op)).run(l.productPlan(op).products.at(0));
}

constexpr std::array<NativeOpRow, 1> kConvTable{{{"tpu.conv", lowerConv}}};

}  // namespace

std::span<const NativeOpRow> convOps() { return kConvTable; }

}  // namespace smalti::cpu
