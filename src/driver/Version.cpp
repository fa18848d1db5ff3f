#include "driver/Version.h"

#include "llvm/Config/llvm-config.h"

namespace smalti {

std::string versionText() { return "smalti " SMALTI_VERSION " (MLIR " LLVM_VERSION_STRING ")"; }

}  // namespace smalti
