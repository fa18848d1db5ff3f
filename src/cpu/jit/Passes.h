// Runs pipelines of LLVM's passes over a module.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Passes/PassBuilder.h"

namespace smalti::cpu {

/// Analyses of one run serve the next.
class Passes {
 public:
  explicit Passes(llvm::TargetMachine&);
  /// `pipeline`: in the syntax of opt's option -passes.
  void run(llvm::Module&, llvm::StringRef pipeline);
  /// After functions have been changed between two runs.
  void forgetAnalyses();

 private:
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassBuilder builder_;
};

}  // namespace smalti::cpu
