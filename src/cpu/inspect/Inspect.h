// The stages of a kernel from plan to machine code, printed for people.
#pragma once

#include <string>

#include "cpu/NativeKernel.h"

namespace smalti::cpu {

struct Inspection {
  std::string reason;  ///< why it has no native code; then all else is empty
  NativeReport report;
  std::string llvm;       ///< LLVM IR as it was emitted
  std::string optimised;  ///< and as it was handed to the code generator
  std::string assembly;
  int64_t codeBytes = 0;  ///< machine code and its constants
};

/// The same compilation as compileNative's, nothing kept, nothing loaded.
Result<Inspection> inspectNative(const KernelPackage&, const NativeOptions&);

}  // namespace smalti::cpu
