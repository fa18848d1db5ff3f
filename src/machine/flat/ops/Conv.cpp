// tpu.conv: conv_general_dilated plus an accumulator.
#include <algorithm>
#include <array>
#include <cstring>

#include "eval/Conv.h"
#include "ir/TpuOpsMxu.h"
#include "machine/flat/ops/Matmul.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

/// Owning form of eval::ConvDims.
struct ConvLists {
  ConvLists() = default;
  explicit ConvLists(tpu::ConvOp op) {
    const tpu::ConvDimensionNumbersAttr n = op.getDimensionNumbers();
    numbers.lhsBatch = n.getLhsBatchDim();
    numbers.lhsFeature = n.getLhsFeatureDim();
    numbers.rhsInput = n.getRhsInputFeatureDim();
    numbers.rhsOutput = n.getRhsOutputFeatureDim();
    numbers.outBatch = n.getOutputBatchDim();
    numbers.outFeature = n.getOutputFeatureDim();
    numbers.featureGroups = static_cast<int64_t>(op.getFeatureGroupCount());
    numbers.batchGroups = static_cast<int64_t>(op.getBatchGroupCount());
    lhsSpatial = n.getLhsSpatialDims();
    rhsSpatial = n.getRhsSpatialDims();
    outSpatial = n.getOutputSpatialDims();
    strides = op.getWindowStrides();
    padding = op.getPadding();
    lhsDilation = op.getLhsDilation();
    rhsDilation = op.getRhsDilation();
    std::ranges::copy(op.getWindowReversal(), reversed.begin());
  }
  eval::ConvDims view() const {
    eval::ConvDims dims = numbers;
    dims.lhsSpatial = lhsSpatial;
    dims.rhsSpatial = rhsSpatial;
    dims.outSpatial = outSpatial;
    dims.strides = strides;
    dims.padding = padding;
    dims.lhsDilation = lhsDilation;
    dims.rhsDilation = rhsDilation;
    dims.reversed = reversed;
    return dims;
  }

  eval::ConvDims numbers;  ///< without its lists
  Shape lhsSpatial, rhsSpatial, outSpatial, strides, padding, lhsDilation, rhsDilation;
  std::array<bool, kMaxRank> reversed{};
};

struct Conv : Payload {
  Operand lhs, rhs, acc, out;
  ConvLists dims;
  eval::DotNumerics numerics = eval::DotNumerics::full;
  void run(Frame& frame) const {
    eval::conv(frame.input(lhs), frame.input(rhs), dims.view(), frame.input(acc), frame.output(out), numerics);
    frame.setDefined(out);
    if (frame.mask(lhs) || frame.mask(rhs) || frame.mask(acc)) [[unlikely]]
      mask(frame);
  }
  void mask(Frame& frame) const {
    const uint8_t* accMask = frame.mask(acc);
    uint8_t* result = frame.newMask(out);
    const auto n = static_cast<size_t>(out.stored());
    if (accMask && !acc.splat)
      std::memcpy(result, accMask, n);
    else
      std::memset(result, accMask ? *accMask : 1, n);
    if (frame.mask(lhs) || frame.mask(rhs))
      eval::convMask(maskOf(frame, lhs), maskOf(frame, rhs), dims.view(), result, out.shape);
    frame.tidyMask(out);
  }
  static eval::Input maskOf(Frame& frame, const Operand& o) {
    return {reinterpret_cast<const std::byte*>(frame.mask(o)), DType::pred, o.shape, o.splat};
  }
};

Status lowerConv(FlatLowering& lowering, mlir::Operation& op) {
  auto conv = mlir::cast<tpu::ConvOp>(op);
  if (const std::string problem = conv.misfit(); !problem.empty()) return lowering.refuse(op, problem);
  Conv payload;
  payload.lhs = lowering.operand(conv.getLhs());
  payload.rhs = lowering.operand(conv.getRhs());
  payload.acc = lowering.operand(conv.getAcc());
  const DType result = elementDType(conv.getType());
  if (!hasProduct(payload.lhs.dtype, payload.rhs.dtype, payload.acc.dtype, result))
    return lowering.refuse(op, "there is no product of these dtypes");
  payload.dims = ConvLists(conv);
  payload.numerics = numericsOf(lowering.options(), keywordAttribute(op, "precision"));
  payload.out = lowering.define(conv.getResult());
  lowering.emit(std::move(payload));
  return {};
}

constexpr FlatOpRow kConvTable[] = {{"tpu.conv", lowerConv, OpClass::matrix}};

}  // namespace

std::span<const FlatOpRow> convTable() { return kConvTable; }

}  // namespace smalti::machine::flat
