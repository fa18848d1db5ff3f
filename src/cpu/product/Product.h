// Functions that matrix products and convolutions share: their operands, and the product of two matrices.
#pragma once

#include "cpu/emit/NativeLowering.h"
#include "cpu/plan/product/ProductPlan.h"
#include "cpu/plan/product/ProductTypes.h"

namespace smalti::cpu {

/// An operand converted to the dtype that it is multiplied as.
View multiplied(NativeLowering&, mlir::Value operand, mlir::Value other, DType out);
/// Copies the initial value of an accumulating product to the result, as f32 or i32.
void startFrom(NativeLowering&, const View& acc, const View& sum);

/// Rows at a constant distance; their elements are contiguous.
struct Rows {
  Reg base = nullptr, leading = nullptr;
};
/// Emits C = A·B (+ C).
void emitProduct(NativeLowering&, const ProductPlan&, const Rows& a, const Rows& b, const Rows& c);

}  // namespace smalti::cpu
