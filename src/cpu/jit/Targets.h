// LLVM's code generators, registered once.
#pragma once

#include <string>

namespace llvm {
class Target;
}

namespace smalti::cpu {

/// Null when LLVM was built without it.
const llvm::Target* findLlvmTarget(const std::string& triple);

}  // namespace smalti::cpu
