// A matrix product before it is emitted, and its two lowerings.
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
  View made;        ///< the result in memory; its dimensions are batch, rows, columns
  mlir::Value acc;  ///< the accumulator: the product is added to it
  /// A left operand in registers (PlannedProduct::lhsInRegisters): of each fragment, which has 16 rows and 32 bytes of
  /// K, the thread's four words. For tensor cores, these are what an instruction reads; for multiply-adds of threads,
  /// the f32 of a fragment of sums.
  std::vector<std::array<Reg, 4>> left;  ///< of each part (ProductTile::parts), all fragments

  int64_t m() const { return num_elements(rows); }
  int64_t n() const { return num_elements(columns); }
  int64_t k() const { return num_elements(depth); }
};

/// The offset, in elements, of these indices of these dimensions.
Reg offsetIn(GpuLowering&, const View&, const Shape& dims, const ElementIndex& at);
/// Adds the sum to the accumulator and stores it, if the element (row, column) is inside the result.
void storeSum(GpuLowering&, const ProductForm&, const ElementIndex& batch, Reg row, Reg column, Reg sum);

/// Lowers a product together with the op that adds it (RegisterPlan::sums).
NativeResult lowerWaitingProduct(GpuLowering&, mlir::Operation& matmul);

/// Lowers a product whose operands are staged in shared memory: one chunk of K is copied while earlier chunks are
/// multiplied. `sums`: the thread's sums, to which products are added; null: tiles of the result are stored to memory.
/// `streamed`: how the stream copies the operands; null: it does not. `begins`: i1, the sums begin at 0; may be null.
void emitTensorProduct(GpuLowering&, const ProductForm&, const ProductTile&, Reg sums, const StreamedProduct* streamed,
                       Reg begins);

}  // namespace smalti::gpu
