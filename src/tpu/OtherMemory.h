// A kernel's use of memories other than VMEM.
#pragma once

#include "ir/KernelPackage.h"
#include "tpu/chip/Chip.h"

namespace smalti::tpu {

struct OtherMemory {
  int64_t smemBytes = 0;       ///< prefetched scalars, blocks and scratch in SMEM
  int64_t smemLimitBytes = 0;  ///< of a core
  int64_t semaphores = 0;      ///< that the kernel declares
  int64_t hbmBytes = 0;        ///< operands and results, each once, aliased results not again
  int64_t hbmLimitBytes = 0;   ///< of the chip
};

OtherMemory otherMemoryOf(const KernelPackage&, const Chip&);

}  // namespace smalti::tpu
