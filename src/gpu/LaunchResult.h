// The result of a call of device code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cpu/runtime/KernelStatus.h"
#include "gpu/emit/Kernel.h"

namespace smalti::gpu {

using cpu::KernelStatus;

/// Whether the results are valid.
inline bool isComplete(KernelStatus end) { return end <= KernelStatus::done; }

struct LaunchResult {
  KernelStatus end = KernelStatus::done;
  std::vector<Array> results;      ///< if it is complete; otherwise empty, and the operands are unchanged
  std::vector<std::string> log{};  ///< printed lines, as in machine::KernelResult
};

/// `launch` gets the size in bytes of the buffer for debug prints (0: none); it is called with larger ones until the
/// prints fit. SM9001: the code asks for a larger one without prints.
Result<LaunchResult> launchWithPrintBuffer(const DeviceKernel&,
                                           const std::function<Result<LaunchResult>(int64_t)>& launch);

}  // namespace smalti::gpu
