#include "cpu/math/Nvidia.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

namespace smalti::cpu {

llvm::Value* exp2OfNvidia(llvm::IRBuilderBase& b, llvm::Value* x, bool denormals) {
  return b.CreateIntrinsic(denormals ? llvm::Intrinsic::nvvm_ex2_approx : llvm::Intrinsic::nvvm_ex2_approx_ftz,
                           {x->getType()}, {x});
}

llvm::Value* quotientOfNvidia(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y) {
  return b.CreateIntrinsic(llvm::Intrinsic::nvvm_div_full, {}, {x, y});
}

llvm::Value* reciprocalOfNvidia(llvm::IRBuilderBase& b, llvm::Value* x) {
  return b.CreateIntrinsic(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, {}, {x});
}

llvm::Value* rsqrtOfNvidia(llvm::IRBuilderBase& b, llvm::Value* x) {
  return b.CreateIntrinsic(llvm::Intrinsic::nvvm_rsqrt_approx_f, {}, {x});
}

}  // namespace smalti::cpu
