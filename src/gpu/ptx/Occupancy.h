// How many blocks of threads a multiprocessor can have at once.
#pragma once

#include <string_view>

#include "gpu/Architecture.h"
#include "gpu/emit/Kernel.h"

namespace smalti::gpu {

struct Occupancy {
  int blocks = 0, warps = 0;  ///< that are resident on a multiprocessor at once
  std::string_view limit;     ///< what prevents another block: "warps", "blocks", "registers" or "shared memory"
};

/// The occupancy of a kernel for which ptxas needs this many registers per thread (CUDA C++ Best Practices Guide,
/// "Occupancy"). 0 blocks: not even one fits.
Occupancy occupancyOf(const DeviceKernel&, int registers, const Architecture&);

}  // namespace smalti::gpu
