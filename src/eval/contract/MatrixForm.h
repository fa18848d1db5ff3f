// Views an operand of dot_general as matrices: batch dims, one outer stride, one contracted stride.
#pragma once

#include "eval/Scratch.h"
#include "eval/Tensor.h"
#include "eval/shape/Strides.h"

namespace smalti::eval {

struct MatrixForm {
  Input in;
  DimList batchShape, batchStrides;
  int64_t rows = 1, depth = 1;  // products of the free and of the contracted dims
  int64_t rowStride = 1, depthStride = 1;
};

/// Dims that cannot be merged to one stride are first laid out as [batch, free, contracting] in `scratch`.
MatrixForm matrixForm(const Input& in, Dims batch, Dims free, Dims contracting, Scratch& scratch);

}  // namespace smalti::eval
