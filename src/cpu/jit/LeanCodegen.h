// Selects the LLVM passes after instruction selection that are worth their time.
#pragma once

#include <span>
#include <string_view>

#include "llvm/IR/LegacyPassManager.h"

namespace llvm {
class OptPassGate;
}

namespace smalti::cpu {

/// The names, as LLVM registers them, of skipped passes. They find almost nothing in code that is emitted in its final
/// shape, and with the analyses that they need take a quarter of the time of code generation.
std::span<const std::string_view> skippedPasses();
bool isSkipped(const llvm::Pass&);

/// A gate for LLVMContext::setOptPassGate. It keeps the innermost loops of products of floats in the order in which
/// they were emitted.
llvm::OptPassGate& leanGate();

/// Runs all passes except the skipped ones.
class LeanPassManager : public llvm::legacy::PassManager {
 public:
  void add(llvm::Pass*) override;
};

}  // namespace smalti::cpu
