// Results of warp groups' products on their way from registers to memory.
//
// A thread has pairs of neighbours, and a warp's pairs of one row are 16 bytes at most: stores of them would use a
// part of each line of memory. So each warp collects rows of 128 bytes in shared memory of its own, and then stores
// 16 bytes per thread.
#pragma once

#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {

/// Stores a value whose elements are distributed so. False, and nothing is emitted: not in this way.
bool storeInRows(GpuLowering&, mlir::Value, const View& to, const Distribution& from);

}  // namespace smalti::gpu
