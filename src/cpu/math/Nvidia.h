// Whether code is emitted for an NVIDIA GPU, which has instructions for what others compute in several steps.
#pragma once

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {

inline bool isForNvidia(const llvm::IRBuilderBase& b) {
  return b.GetInsertBlock()->getModule()->getTargetTriple().isNVPTX();
}

}  // namespace smalti::cpu
