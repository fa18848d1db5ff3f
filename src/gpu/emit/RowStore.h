// Stores results of warp groups' products from registers to memory.
//
// A thread has pairs of neighbours, and the pairs of a warp in one row of a fragment are at most 32 bytes, so that
// direct stores would write only part of each memory line. Therefore each warp collects rows of 128 bytes in its own
// part of shared memory and then stores 16 bytes per thread.
#pragma once

#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {

/// Stores a value with this distribution. False: its form is not supported, and nothing is emitted.
bool storeInRows(GpuLowering&, mlir::Value, const View& to, const Distribution& from);

}  // namespace smalti::gpu
