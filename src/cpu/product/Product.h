// Functions that matrix products and convolutions share: the dtypes of multiplication, and the product of two matrices.
#pragma once

#include "cpu/emit/NativeLowering.h"
#include "cpu/plan/ProductPlan.h"

namespace smalti::cpu {

/// Whether products multiply operands of these dtypes, after multipliedAs(), and accumulate in that of the result.
bool multiplies(DType a, DType b, DType c);
/// The dtype in which operands are multiplied: fp8 floats, and integers that are multiplied with or accumulated as
/// floats, as f32; other integers below a byte as i8.
DType multipliedAs(DType, DType other, DType out);
/// An operand converted to that dtype.
View multiplied(NativeLowering&, mlir::Value operand, mlir::Value other, DType out);

bool isZeroConstant(mlir::Value);
/// Copies the initial value of an accumulating product to the result, as f32 or i32.
void startFrom(NativeLowering&, const View& acc, const View& sum);

/// Rows at a constant distance; their elements are contiguous.
struct Rows {
  Reg base = nullptr, leading = nullptr;
};
/// Bytes from row to row, if known at compile time.
std::optional<int64_t> knownRowBytes(const Rows&, DType);
/// Adds the plan of an emitted product to the report; `of`: the op that it is part of, or empty.
void recordProduct(NativeLowering&, const ProductPlan&, std::string_view of = {});
/// Emits C = A·B (+ C) and adds it to the report; `of`: the op that it is part of.
void emitProduct(NativeLowering&, const GemmShape&, const Rows& a, const Rows& b, const Rows& c, std::string_view of);

}  // namespace smalti::cpu
