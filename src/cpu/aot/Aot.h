// Ahead-of-time compilation: a kernel as an object file and a C header. It needs libc, and neither smalti nor LLVM.
#pragma once

#include <string>
#include <string_view>

#include "cpu/NativeKernel.h"

namespace smalti::cpu {

struct AheadOfTimeKernel {
  std::string object;
  std::string header;
  NativeReport report;
};

/// The kernel as a C function `name` (a C identifier), with `name_in` and `name_workspace_bytes` next to it; the header
/// describes all three. Parallel grid axes run in order. `stepLimit`: most grid steps, and most iterations that
/// the code counts (emit/IterationLimit.h); 0: no limit. SM7003 when not all of the kernel is native code.
Result<AheadOfTimeKernel> compileAheadOfTime(const KernelPackage&, const Processor&, const std::string& name,
                                             int64_t stepLimit);

/// The return codes of a generated function.
enum CResult : int {
  kCOk = 0,
  kCFault = 1,
  kCBadPointer = 2,
  kCNoMemory = 3,
  kCWrongProcessor = 4,
  kCBlockOutside = 5,
  kCStepLimit = 6
};

/// `text` as a C identifier: other characters become '_'; begins with a letter.
std::string cIdentifier(std::string_view text);
/// Whether a program may have a function of that name: no word of C or C++, nothing that the header or the C library
/// has.
bool isCIdentifier(std::string_view text);

}  // namespace smalti::cpu
