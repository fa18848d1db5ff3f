#include "cpu/jit/Targets.h"

#include <mutex>

#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

namespace smalti::cpu {
namespace {

void registerHost() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();  // inline assembly
}

void registerAll() {
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  llvm::InitializeAllAsmPrinters();
  llvm::InitializeAllAsmParsers();
}

}  // namespace

const llvm::Target* findLlvmTarget(const std::string& triple) {
  static std::mutex mutex;  // LLVM's registry is not thread-safe
  const std::lock_guard lock(mutex);
  static const llvm::Triple::ArchType host = llvm::Triple(llvm::sys::getProcessTriple()).getArch();
  static bool hostRegistered = false, allRegistered = false;
  const llvm::Triple wanted(triple);
  if (!hostRegistered) registerHost();
  hostRegistered = true;
  if (wanted.getArch() != host && !allRegistered) {
    registerAll();
    allRegistered = true;
  }
  std::string error;
  return llvm::TargetRegistry::lookupTarget(wanted, error);
}

LlvmFeatures::LlvmFeatures(const std::string& triple, const std::string& processor, const std::string& features) {
  if (const llvm::Target* target = findLlvmTarget(triple))
    info_.reset(target->createMCSubtargetInfo(llvm::Triple(triple), processor, features));
}

bool LlvmFeatures::has(const std::string& feature) const { return info_ && info_->checkFeatures("+" + feature); }

}  // namespace smalti::cpu
