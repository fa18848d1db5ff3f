// A call of native code whose results lie in memory that the caller has.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cpu/NativeKernel.h"

namespace smalti::cpu {

/// As NativeKernel::call. `into`: empty, or one Array for each result, of its type, which the code writes to where it
/// begins at a multiple of 64 bytes and its memory holds the kernel's own dtype; the other results are elsewhere.
Result<std::vector<Array>> callInto(const NativeKernel&, std::span<const Array> operands, std::span<Array> into,
                                    int threads, bool& fault, std::vector<std::string>* log);

}  // namespace smalti::cpu
