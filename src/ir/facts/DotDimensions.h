// The dimension numbers of a matrix product.
#pragma once

#include "smalti/array.h"

namespace mlir {
class Operation;
}

namespace smalti {

/// The contracting, free and batch dimensions of the operands. The result has those of the batch, then the left
/// operand's free ones, then the right one's.
struct DotDimensions {
  Shape lhsContracting, rhsContracting, lhsFree, rhsFree, lhsBatch, rhsBatch;
  bool operator==(const DotDimensions&) const = default;
};

/// The dimensions of a tpu.matmul, from either form of its attributes: dimension_numbers, or transposes of matrices.
DotDimensions dotDimensionsOf(mlir::Operation& matmul);

}  // namespace smalti
