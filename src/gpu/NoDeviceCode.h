// The diagnostic of kernels that there is no device code for.
#pragma once

#include "cpu/Unsupported.h"

namespace smalti::gpu {

/// SM7201.
Diagnostic noDeviceCode(const cpu::Unsupported&);

}  // namespace smalti::gpu
