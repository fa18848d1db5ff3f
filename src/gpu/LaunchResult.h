// The result of a call of device code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/device/KernelEnd.h"
#include "gpu/emit/Kernel.h"

namespace smalti::gpu {

struct LaunchResult {
  KernelEnd end = KernelEnd::done;
  std::vector<Array> results;      ///< after KernelEnd::done; otherwise empty, and the operands are unchanged
  std::vector<std::string> log{};  ///< printed lines, as in machine::KernelResult
};

/// `launch` gets the size in bytes of the buffer for debug prints (0: none); it is called with larger ones until the
/// prints fit.
Result<LaunchResult> launchWithPrintBuffer(const DeviceKernel&,
                                           const std::function<Result<LaunchResult>(int64_t)>& launch);

}  // namespace smalti::gpu
