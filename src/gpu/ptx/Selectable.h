// Finds instructions that LLVM's back end for NVIDIA GPUs cannot select, since it would end the process.
#pragma once

#include <optional>
#include <string>

#include "gpu/Architecture.h"

namespace llvm {
class Module;
}

namespace smalti::gpu {

/// The first instruction that is not known to be selectable for the architecture, as a phrase; absent: all are.
std::optional<std::string> notSelectable(const llvm::Module&, const Architecture&);

}  // namespace smalti::gpu
