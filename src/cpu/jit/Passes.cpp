#include "cpu/jit/Passes.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Support/Error.h"

namespace smalti::cpu {

Passes::Passes(llvm::TargetMachine& machine) : builder_(&machine) {
  builder_.registerModuleAnalyses(modules_);
  builder_.registerCGSCCAnalyses(components_);
  builder_.registerFunctionAnalyses(functions_);
  builder_.registerLoopAnalyses(loops_);
  builder_.crossRegisterProxies(loops_, functions_, components_, modules_);
}

void Passes::run(llvm::Module& module, llvm::StringRef pipeline) {
  llvm::ModulePassManager passes;
  llvm::cantFail(builder_.parsePassPipeline(passes, pipeline));
  passes.run(module, modules_);
}

void Passes::forgetAnalyses() {
  modules_.clear();
  functions_.clear();
}

}  // namespace smalti::cpu
