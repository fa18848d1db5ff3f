#include "ir/facts/DotDimensions.h"

#include "ir/TpuOpsMxu.h"

namespace smalti {

DotDimensions dotDimensionsOf(mlir::Operation& op) {
  auto matmul = mlir::cast<tpu::MatmulOp>(op);
  const auto numbers = matmul.getDimensionNumbersAttr();
  if (!numbers) {
    const int64_t l = matmul.getTransposeLhs() ? 0 : 1, r = matmul.getTransposeRhs() ? 1 : 0;
    return {{l}, {r}, {1 - l}, {1 - r}, {}, {}};
  }
  return {numbers.getLhsContractingDims(),    numbers.getRhsContractingDims(), numbers.getLhsNonContractingDims(),
          numbers.getRhsNonContractingDims(), numbers.getLhsBatchDims(),       numbers.getRhsBatchDims()};
}

}  // namespace smalti
