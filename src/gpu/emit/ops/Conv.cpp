// tpu.conv: each thread computes elements of the result, one after another, and reads the operands in place. Products
// of floats are summed in f32, products of integers in i32.
#include <array>

#include "gpu/emit/GpuLowering.h"
#include "ir/TpuOpsMxu.h"
#include "llvm/IR/Intrinsics.h"

namespace smalti::gpu {
namespace {

class ConvLowering {
 public:
  ConvLowering(GpuLowering& l, tpu::ConvOp op, View lhs, View rhs)
      : l_(l), b_(l.b), op_(op), n_(op.getDimensionNumbers()), lhs_(std::move(lhs)), rhs_(std::move(rhs)) {
    for (const int64_t d : n_.getRhsSpatialDims()) window_.push_back(rhs_.shape[static_cast<size_t>(d)]);
    inputs_ = rhs_.shape[static_cast<size_t>(n_.getRhsInputFeatureDim())];
    out_ = elementDType(op.getType());
    isFloat_ = is_float(out_);
  }

  NativeResult run() {
    View made = l_.allocate(out_, shapeOf(op_.getType()));
    MemorySet reads = l_.reads(op_.getAcc());
    reads.insert(lhs_.memory);
    reads.insert(rhs_.memory);
    l_.touch(reads, {made.memory});
    l_.forElements(made.shape, [&](const ElementIndex& at) {
      Reg start = l_.element(op_.getAcc(), at);
      if (!start) return;
      Reg all = isFloat_
                    ? cpu::roundTo(b_, out_, b_.CreateFAdd(start, sum(at)))
                    : b_.CreateTrunc(b_.CreateAdd(b_.CreateSExt(start, b_.getInt32Ty()), sum(at)), start->getType());
      cpu::storeElements(b_, out_, all, cpu::elementPointer(b_, made, at), 1);
    });
    l_.setView(op_.getResult(), std::move(made));
    return l_.status;
  }

 private:
  static size_t dim(int64_t d) { return static_cast<size_t>(d); }

  /// The sum of an element of the result: over the positions in the window and the input features of its group.
  Reg sum(const ElementIndex& at) {
    const auto features = static_cast<int64_t>(op_.getFeatureGroupCount()),
               batches = static_cast<int64_t>(op_.getBatchGroupCount());
    const int64_t outputs = rhs_.shape[dim(n_.getRhsOutputFeatureDim())];
    ElementIndex left(lhs_.shape.size(), l_.index(0)), right(rhs_.shape.size(), l_.index(0));
    Reg feature = at[dim(n_.getOutputFeatureDim())];
    Reg group = b_.CreateUDiv(feature, l_.index(outputs / (features * batches)));
    Reg& batch = left[dim(n_.getLhsBatchDim())];
    batch = at[dim(n_.getOutputBatchDim())];
    if (batches > 1)
      batch = b_.CreateAdd(batch, b_.CreateMul(group, l_.index(lhs_.shape[dim(n_.getLhsBatchDim())] / batches)));
    Reg firstInput = features > 1 ? b_.CreateMul(group, l_.index(inputs_)) : l_.index(0);
    right[dim(n_.getRhsOutputFeatureDim())] = feature;
    Reg zero = isFloat_ ? static_cast<Reg>(llvm::ConstantFP::get(b_.getFloatTy(), 0.0)) : b_.getInt32(0);
    return l_.carry(l_.index(0), l_.index(num_elements(window_)), l_.index(1), {zero},
                    [&](Reg tap, const std::vector<Reg>& before) {
                      Reg inside = enterWindow(at, tap, left, right);
                      return l_.carry(l_.index(0), l_.index(inputs_), l_.index(1), before,
                                      [&](Reg i, const std::vector<Reg>& now) -> std::vector<Reg> {
                                        left[dim(n_.getLhsFeatureDim())] = b_.CreateAdd(firstInput, i);
                                        right[dim(n_.getRhsInputFeatureDim())] = i;
                                        // Zeros of the padding are multiplied as well, even by infinities.
                                        Reg x = b_.CreateSelect(inside, factor(lhs_, left), zero);
                                        return {add(x, factor(rhs_, right), now[0])};
                                      });
                    })[0];
  }

  /// Sets the positions along the spatial dimensions; i1: whether they are inside the operand.
  Reg enterWindow(const ElementIndex& at, Reg tap, ElementIndex& left, ElementIndex& right) {
    const ElementIndex inWindow = l_.placeOf(tap, window_);
    Reg inside = b_.getTrue();
    for (size_t d = 0; d < window_.size(); ++d) {
      const size_t lhsDim = dim(n_.getLhsSpatialDims()[d]);
      Reg place = op_.getWindowReversal()[d] ? b_.CreateSub(l_.index(window_[d] - 1), inWindow[d]) : inWindow[d];
      Reg position = b_.CreateAdd(
          b_.CreateMul(at[dim(n_.getOutputSpatialDims()[d])], l_.index(op_.getWindowStrides()[d])),
          b_.CreateSub(b_.CreateMul(place, l_.index(op_.getRhsDilation()[d])), l_.index(op_.getPadding()[2 * d])));
      const int64_t dilation = op_.getLhsDilation()[d], size = lhs_.shape[lhsDim];
      inside = b_.CreateAnd(inside, b_.CreateICmpULT(position, l_.index(size * dilation)));
      if (dilation > 1)
        inside = b_.CreateAnd(inside, b_.CreateICmpEQ(b_.CreateURem(position, l_.index(dilation)), l_.index(0)));
      left[lhsDim] = b_.CreateUDiv(position, l_.index(dilation));
      right[dim(n_.getRhsSpatialDims()[d])] = inWindow[d];
    }
    for (const int64_t d : n_.getLhsSpatialDims()) left[dim(d)] = b_.CreateSelect(inside, left[dim(d)], l_.index(0));
    return inside;
  }

  /// An element as f32 or i32.
  Reg factor(const View& v, const ElementIndex& at) {
    if (v.elements() == 0) return llvm::Constant::getNullValue(isFloat_ ? b_.getFloatTy() : b_.getInt32Ty());
    Reg r = cpu::loadElements(b_, v.dtype, cpu::elementPointer(b_, v, at), 1);
    if (r->getType()->isFloatTy()) return r;
    return isFloat_ ? b_.CreateSIToFP(r, b_.getFloatTy()) : b_.CreateSExtOrTrunc(r, b_.getInt32Ty());
  }
  Reg add(Reg x, Reg y, Reg sum) {
    return isFloat_ ? b_.CreateIntrinsic(llvm::Intrinsic::fma, {b_.getFloatTy()}, {x, y, sum})
                    : b_.CreateAdd(sum, b_.CreateMul(x, y));
  }

  GpuLowering& l_;
  Builder& b_;
  tpu::ConvOp op_;
  tpu::ConvDimensionNumbersAttr n_;
  View lhs_, rhs_;
  Shape window_;
  int64_t inputs_ = 0;
  DType out_ = DType::f32;
  bool isFloat_ = true;
};

NativeResult lowerConv(GpuLowering& l, mlir::Operation& op) {
  auto conv = llvm::cast<tpu::ConvOp>(op);
  const DType a = elementDType(conv.getLhs().getType()), b = elementDType(conv.getRhs().getType()),
              out = elementDType(conv.getType());
  const bool computes = cpu::computesNatively(a) && cpu::computesNatively(b) && cpu::computesNatively(out);
  if (!computes || a == DType::pred || b == DType::pred || out == DType::pred ||
      (!is_float(out) && (is_float(a) || is_float(b) || bit_width(out) > 32)))
    return unsupported("a convolution of these dtypes");
  auto lhs = l.readable(conv.getLhs()), rhs = l.readable(conv.getRhs());
  if (!lhs) return tl::unexpected(lhs.error());
  if (!rhs) return tl::unexpected(rhs.error());
  return ConvLowering(l, conv, std::move(*lhs), std::move(*rhs)).run();
}

constexpr std::array<GpuOpRow, 1> kConvTable{{{"tpu.conv", lowerConv}}};

}  // namespace

std::span<const GpuOpRow> convOps() { return kConvTable; }

}  // namespace smalti::gpu
