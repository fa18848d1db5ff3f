// Emits the functions that a C program calls, around the kernel function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cpu/Processor.h"
#include "ir/KernelPackage.h"

namespace llvm {
class Module;
}

namespace smalti::cpu {

inline constexpr int64_t kWorkspaceAlignment = 64;

struct CEntry {
  std::string name;
  std::vector<ArrayType> operands, results;  ///< types of the call
  std::vector<Alias> aliases;
  int64_t workspaceBytes = 0;
  std::vector<bool> written;  ///< by result: whether the kernel surely writes all of it
  int64_t stepLimit = 0;      ///< most grid steps, and most loop iterations, of a call; 0: not counted
  std::vector<int64_t> grid;  ///< kDynamicBound: the value of one of the leading operands, in this order
  bool operator==(const CEntry&) const = default;
};

/// Adds `int name(operands…, results…)` and `int name_in(workspace, operands…, results…)`, which call the module's
/// kKernelSymbol, and the constant `int64_t name_workspace_bytes`; nothing else of the module stays visible. They look
/// first that the processor that runs them has the features of `compiledFor`.
void addCEntry(llvm::Module&, const CEntry&, const Processor& compiledFor);

/// The header that declares and describes these functions.
std::string cHeader(const CEntry&, const std::string& kernel, const Processor& compiledFor);

}  // namespace smalti::cpu
