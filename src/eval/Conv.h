// Convolutions of any rank: strides, padding, dilation, reversed windows, groups; f32 or i32 accumulation.
#pragma once

#include "eval/Contract.h"

namespace smalti::eval {

/// Which dimension is what, and how windows move. Lists have an entry per spatial dimension, `padding` two: low, high.
struct ConvDims {
  int64_t lhsBatch = 0, lhsFeature = 0;
  int64_t rhsInput = 0, rhsOutput = 0;
  int64_t outBatch = 0, outFeature = 0;
  Dims lhsSpatial, rhsSpatial, outSpatial;
  Dims strides, padding, lhsDilation, rhsDilation;
  std::span<const bool> reversed;
  int64_t featureGroups = 1, batchGroups = 1;
};

/// out = conv(lhs, rhs) + acc. What padding and lhs dilation put in is zero and multiplied as any element. Dtypes,
/// rounding and the return value are dotGeneral's; shapes fit by contract, and nothing but lhs is empty.
bool conv(Input lhs, Input rhs, const ConvDims&, Input acc, Output out, DotNumerics numerics = DotNumerics::full,
          bool lhsUnsigned = false, bool rhsUnsigned = false);

/// Masks (1: defined): out stays 1 where all that goes into it is defined; padding is. `out` comes with acc's mask.
/// Masks are of DType::pred in the operands' shapes; data nullptr: that operand is defined everywhere.
void convMask(Input lhs, Input rhs, const ConvDims&, uint8_t* out, Dims outShape);

}  // namespace smalti::eval
