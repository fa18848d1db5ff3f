// Instructions of NVIDIA GPUs for what other processors compute in several steps.
#pragma once

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {

/// Whether code is emitted for an NVIDIA GPU.
inline bool isForNvidia(const llvm::IRBuilderBase& b) {
  return b.GetInsertBlock()->getModule()->getTargetTriple().isNVPTX();
}

// Of f32. Errors and ranges: CUDA C++ Programming Guide, "Mathematical Functions", and PTX ISA, ex2, div, rcp, rsqrt.

/// 2^x within 2 ulp. Without denormals, where they are 0, it is one instruction.
llvm::Value* exp2OfNvidia(llvm::IRBuilderBase&, llvm::Value* x, bool denormals);
/// x / y within 2 ulp, without the branch of a quotient that is rounded correctly.
llvm::Value* quotientOfNvidia(llvm::IRBuilderBase&, llvm::Value* x, llvm::Value* y);
/// 1 / x within 1 ulp, for normal numbers whose reciprocals are normal.
llvm::Value* reciprocalOfNvidia(llvm::IRBuilderBase&, llvm::Value* x);
/// 1 / √x within 2 ulp.
llvm::Value* rsqrtOfNvidia(llvm::IRBuilderBase&, llvm::Value* x);

}  // namespace smalti::cpu
