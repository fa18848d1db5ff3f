#include "cpu/product/Product.h"

#include "cpu/emit/elements/NarrowFloats.h"
#include "cpu/plan/KernelPlan.h"
#include "cpu/product/ConvertedCopy.h"
#include "cpu/product/SkinnyGemm.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti::cpu {

bool multiplies(DType a, DType b, DType c) {
  const auto isFloat = [](DType t) { return t == DType::f32 || isNarrowFloat(t); };
  if (isFloat(a) && isFloat(b)) return isFloat(c);
  return a == DType::i8 && b == DType::i8 && c == DType::i32;
}

DType multipliedAs(DType t, DType other, DType out) {
  if (isByteFloat(t) || (is_integer(t) && !(is_integer(other) && is_integer(out)))) return DType::f32;
  return t == DType::i2 || t == DType::i4 ? DType::i8 : t;
}

View multiplied(NativeLowering& l, mlir::Value operand, mlir::Value other, DType out) {
  const View view = l.view(operand);
  const DType t = multipliedAs(view.dtype, elementDType(other.getType()), out);
  if (t == view.dtype) return view;
  View wide = l.allocate(t, view.shape);
  convertElements(l, view, wide);
  return wide;
}

bool isZeroConstant(mlir::Value v) {
  mlir::Operation* op = v.getDefiningOp();
  if (!isSplatConstant(v)) return false;
  auto dense = llvm::cast<mlir::DenseElementsAttr>(op->getAttr("value"));
  mlir::Attribute element = dense.getSplatValue<mlir::Attribute>();
  if (auto f = llvm::dyn_cast<mlir::FloatAttr>(element)) return f.getValue().isZero();
  if (auto i = llvm::dyn_cast<mlir::IntegerAttr>(element)) return i.getValue().isZero();
  return false;
}

void startFrom(NativeLowering& l, const View& acc, const View& sum) {
  if (acc.dtype == sum.dtype)
    l.copy(acc, sum);
  else
    convertElements(l, acc, sum);
}

std::optional<int64_t> knownRowBytes(const Rows& rows, DType dtype) {
  const auto elements = constantOf(rows.leading);
  return elements ? std::optional(*elements * storage_bytes(dtype)) : std::nullopt;
}

void recordProduct(NativeLowering& l, const ProductPlan& plan, std::string_view of) {
  l.report.matmuls.push_back(text(plan, of));
  if (l.report.plan) l.report.plan->products.push_back(plan);
}

void emitProduct(NativeLowering& l, const GemmShape& shape, const Rows& a, const Rows& b, const Rows& c,
                 std::string_view of) {
  const ProductPlan plan = planProduct({.shape = shape, .rowBytesOfB = knownRowBytes(b, shape.b)}, l.processor);
  if (plan.isSkinny()) {
    emitSkinnyGemm(l, plan, {shape, a.base, a.leading, {{b.base, nullptr}}, b.leading, c.base, c.leading});
  } else {
    const auto workspace = l.arena.allocate(plan.gemm.packedBytes);
    Reg work = l.b.CreateConstInBoundsGEP1_64(l.b.getInt8Ty(), l.arenaBase, static_cast<uint64_t>(workspace->offset));
    l.b.CreateCall(emitGemm(l.module, plan.shape, l.processor),
                   {a.base, a.leading, b.base, b.leading, c.base, c.leading, work});
  }
  recordProduct(l, plan, of);
}

}  // namespace smalti::cpu
