// The diagnostic of kernels that there is no device code for.
#pragma once

#include "gpu/emit/Kernel.h"

namespace smalti::gpu {

/// SM7201.
Diagnostic noDeviceCode(const NotLowered&);

}  // namespace smalti::gpu
