// Elements of other threads of a warp.
#pragma once

#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {

/// The element that the thread whose lane differs in the bits of `mask` gives.
Reg shuffled(GpuLowering&, Reg value, int mask);

}  // namespace smalti::gpu
