// The stages of a kernel from plan to machine code, as text.
#pragma once

#include <string>

#include "cpu/NativeKernel.h"

namespace smalti::cpu {

struct Inspection {
  std::string reason;  ///< why it has no native code; then everything else is empty
  NativeReport report;
  std::string llvm;       ///< LLVM IR as emitted
  std::string optimised;  ///< LLVM IR as the code generator receives it
  std::string assembly;
  int64_t codeBytes = 0;  ///< machine code and its constants
};

/// Compiles as compileNative does, without caching or loading the code.
Result<Inspection> inspectNative(const KernelPackage&, const NativeOptions&);

}  // namespace smalti::cpu
