// The diagnostic for kernels without device code.
#pragma once

#include "cpu/Unsupported.h"

namespace smalti::gpu {

/// SM7201.
Diagnostic noDeviceCode(const cpu::Unsupported&);

}  // namespace smalti::gpu
