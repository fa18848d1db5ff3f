// Helpers for the bodies of primitives on a GPU.
#pragma once

#include <functional>

#include "gpu/device/Primitives.h"
#include "gpu/device/TensorMap.h"
#include "llvm/IR/Module.h"

namespace smalti::gpu {

inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;  ///< NVPTX address spaces

/// Defines the function if the module declares it; `body` returns the result, null for void.
void definePtxBody(llvm::Module&, llvm::StringRef name, const std::function<Reg(Builder&, llvm::Function*)>& body);
/// Names of declared functions that begin with the prefix.
std::vector<std::string> declaredAs(const llvm::Module&, llvm::StringRef prefix);
/// Defines partial barriers, register limits, mbarriers and copies of boxes.
void definePtxBulkBodies(llvm::Module&);

}  // namespace smalti::gpu
