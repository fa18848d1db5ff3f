// Facts about products that their plans and their lowerings share: dtypes, and the roles of dimensions.
#pragma once

#include <optional>
#include <span>

#include "cpu/plan/product/GemmShape.h"
#include "mlir/IR/Operation.h"
#include "smalti/array.h"

namespace smalti::cpu {

/// Whether products multiply operands of these dtypes, after multipliedAs(), and accumulate in that of the result.
bool multiplies(DType a, DType b, DType c);
/// The dtype in which operands are multiplied: fp8 floats, and integers that are multiplied with or accumulated as
/// floats, as f32; other integers below a byte as i8.
DType multipliedAs(DType, DType other, DType out);
/// The dtype in which a tpu.matmul accumulates: f32 or i32. A narrow result is rounded once.
DType accumulatedAs(DType out);

/// Whether there is native code for a tpu.matmul of these dtypes.
bool isNativeProduct(mlir::Operation& matmul);

/// The dimensions of an operand that make it [batch…] × rows × columns.
struct ProductSide {
  Shape batch;
  int64_t free = -1, contracting = -1;  ///< -1: of size 1
};
/// nullopt: several free or contracting dimensions are larger than 1.
std::optional<ProductSide> productSide(std::span<const int64_t> shape, const Shape& batch, const Shape& free,
                                       const Shape& contracting);
/// An operand with several free or contracting dimensions, reshaped to [batch…, free, contracting].
struct MergedOperand {
  Shape order;  ///< its dimensions, before they are merged
  Shape shape;
  ProductSide side;
};
MergedOperand mergedOperand(std::span<const int64_t> shape, const Shape& batch, const Shape& free,
                            const Shape& contracting);
/// The position, among the free dimensions of an operand, of the one that is larger than 1; 0: there is none.
size_t freePosition(std::span<const int64_t> shape, const Shape& free);

}  // namespace smalti::cpu
