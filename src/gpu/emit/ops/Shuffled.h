// Elements of other threads of a warp.
#pragma once

#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {

/// The value of the lane whose number differs in the bits of `mask`.
Reg shuffled(GpuLowering&, Reg value, int mask);

}  // namespace smalti::gpu
