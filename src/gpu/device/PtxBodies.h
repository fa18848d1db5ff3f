// Helpers for the bodies of primitives on a GPU.
#pragma once

#include <functional>

#include "gpu/device/Primitives.h"
#include "gpu/device/TensorMap.h"
#include "llvm/IR/Module.h"

namespace smalti::gpu {

inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;  ///< of NVPTX's address spaces

/// Adds a body to the function if the module declares it; `body` gives what it returns, null for nothing.
void definePtxBody(llvm::Module&, llvm::StringRef name, const std::function<Reg(Builder&, llvm::Function*)>& body);
/// Declared functions whose names begin so.
std::vector<std::string> declaredAs(const llvm::Module&, llvm::StringRef prefix);
/// Of barriers of some threads, of registers, of signals, and of copies of boxes.
void definePtxBulkBodies(llvm::Module&);

}  // namespace smalti::gpu
