// Adds the lines that kernels print to the results of a call.
#pragma once

#include "driver/target/RunOptions.h"

namespace smalti::driver {

/// Adds the lines printed by the kernel of a device (its index in the call); "d0:" at the beginning of each is replaced
/// by the device's number.
void keepLog(std::span<const std::string> lines, size_t device, const ExecuteSettings&, machine::KernelResult& to);

}  // namespace smalti::driver
