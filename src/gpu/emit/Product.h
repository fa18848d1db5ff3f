// A matrix product before it is emitted, and the two ways to do so.
#pragma once

#include <array>
#include <vector>

#include "gpu/emit/GpuLowering.h"
#include "ir/facts/DotDimensions.h"

namespace smalti::gpu {

struct ProductForm {
  View lhs, rhs;
  DotDimensions dims;
  Shape batch, rows, columns, depth;  ///< sizes of the dimensions of each kind
  DType out = DType::f32;
  View made;        ///< the result, which is in this order: batch, rows, columns
  mlir::Value acc;  ///< what it is added to
  /// Of a left operand in registers (PlannedProduct::lhsInRegisters): for each 64 rows of the warp group and each
  /// instruction's depth, the four words of the thread's fragment.
  std::vector<std::array<Reg, 4>> left;

  int64_t m() const { return num_elements(rows); }
  int64_t n() const { return num_elements(columns); }
  int64_t k() const { return num_elements(depth); }
};

/// The distance of the element at these indices of these dimensions from the first one.
Reg offsetIn(GpuLowering&, const View&, const Shape& dims, const ElementIndex& at);
/// Adds the sum to what it is added to and stores it, where the element (row, column) is inside of the result.
void storeSum(GpuLowering&, const ProductForm&, const ElementIndex& batch, Reg row, Reg column, Reg sum);

/// A product that waits for the op that it is computed with (RegisterPlan::sums).
NativeResult lowerWaitingProduct(GpuLowering&, mlir::Operation& matmul);

/// By the tensor cores: operands are staged in shared memory, chunk by chunk of the depth, while the chunks before are
/// multiplied. `sums`: the thread's, added to. Absent: to memory, tile by tile. `stream`: brings the operands; may be
/// null. `begins`: i1, the sums are 0 before; may be null.
void emitTensorProduct(GpuLowering&, const ProductForm&, const ProductTile&, Reg sums, Stream* stream, Reg begins);

}  // namespace smalti::gpu
