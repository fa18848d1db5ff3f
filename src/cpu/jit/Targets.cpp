#include "cpu/jit/Targets.h"

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"

namespace smalti::cpu {

const llvm::Target* findLlvmTarget(const std::string& triple) {
  static const bool registered = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    return true;
  }();
  (void)registered;
  std::string error;
  return llvm::TargetRegistry::lookupTarget(llvm::Triple(triple), error);
}

}  // namespace smalti::cpu
