// What matrix products and convolutions share: what operands are multiplied as, and the product of two matrices.
#pragma once

#include "cpu/emit/Lowering.h"
#include "cpu/plan/ProductPlan.h"

namespace smalti::cpu {

/// Whether nests multiply such operands, after multipliedAs(), and accumulate for such a result.
bool multiplies(DType a, DType b, DType c);
/// What operands of a dtype are multiplied as: floats of a byte, and integers that meet floats or are summed as such,
/// as f32; other integers below a byte as i8.
DType multipliedAs(DType, DType other, DType out);
/// An operand as that.
View multiplied(Lowering&, mlir::Value operand, mlir::Value other, DType out);

bool isZeroConstant(mlir::Value);
/// What a product is added to goes where the product comes, as f32 or i32.
void startFrom(Lowering&, const View& acc, const View& sum);

/// Rows that follow each other at a distance; their elements are contiguous.
struct Rows {
  Reg base = nullptr, leading = nullptr;
};
/// Bytes from row to row, where they are known.
std::optional<int64_t> knownRowBytes(const Rows&, DType);
/// Notes in the report what was decided for a product that is emitted; `of`: what it is part of, or nothing.
void recordProduct(Lowering&, const ProductPlan&, std::string_view of = {});
/// C = A·B (+ C), and its line of the report; `of`: what it is part of.
void emitProduct(Lowering&, const GemmShape&, const Rows& a, const Rows& b, const Rows& c, std::string_view of);

}  // namespace smalti::cpu
