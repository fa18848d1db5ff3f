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
/// `isLarge`: the module has so many instructions that another pass takes too long.
bool isSkipped(const llvm::Pass&, bool isLarge = false);

/// A gate for LLVMContext::setOptPassGate. It keeps the innermost loops of products of floats in the order in which
/// they were emitted.
llvm::OptPassGate& leanGate();

/// Runs all passes except the skipped ones, on that module.
class LeanPassManager : public llvm::legacy::PassManager {
 public:
  explicit LeanPassManager(const llvm::Module&);
  void add(llvm::Pass*) override;

 private:
  bool isLarge_;
};

}  // namespace smalti::cpu
