// LLVM's code generators: the host's, and all others once another is asked for.
#pragma once

#include <string>

namespace llvm {
class Target;
}

namespace smalti::cpu {

/// Null when LLVM was built without it.
const llvm::Target* findLlvmTarget(const std::string& triple);

}  // namespace smalti::cpu
