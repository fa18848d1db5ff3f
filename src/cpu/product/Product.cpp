#include "cpu/product/Product.h"

#include "cpu/product/ConvertedCopy.h"
#include "cpu/product/SkinnyGemm.h"
#include "cpu/product/gemm/Arguments.h"
#include "cpu/product/gemm/Gemm.h"

namespace smalti::cpu {

View multiplied(NativeLowering& l, mlir::Value operand, mlir::Value other, DType out) {
  const View view = l.view(operand);
  const DType t = multipliedAs(view.dtype, elementDType(other.getType()), out);
  if (t == view.dtype) return view;
  View wide = l.allocate(t, view.shape);
  convertElements(l, view, wide);
  return wide;
}

void startFrom(NativeLowering& l, const View& acc, const View& sum) {
  if (acc.dtype == sum.dtype)
    l.copy(acc, sum);
  else
    convertElements(l, acc, sum);
}

void emitProduct(NativeLowering& l, const ProductPlan& plan, const Rows& a, const Rows& b, const Rows& c) {
  if (plan.isSkinny()) {
    emitSkinnyGemm(l, plan, {plan.shape, a.base, a.leading, {{b.base, nullptr}}, b.leading, c.base, c.leading});
    return;
  }
  const GemmPlan& gemm = plan.packed().gemm;
  const auto workspace = l.arena.allocate(gemm.packedBytes);
  Reg work = l.b.CreateConstInBoundsGEP1_64(l.b.getInt8Ty(), l.arenaBase, static_cast<uint64_t>(workspace->offset));
  l.b.CreateCall(emitGemm(l.module, gemm),
                 GemmArguments{a.base, a.leading, b.base, b.leading, c.base, c.leading, work}.values());
}

}  // namespace smalti::cpu
