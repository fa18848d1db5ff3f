// Partial blocks: elements inside the array are copied to a buffer and back.
#pragma once

#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {

struct EdgeBlock {
  const View& array;
  const View& buffer;
  const std::vector<Reg>& starts;  ///< of the block in the array
};

/// `outside`: what the rest of the buffer becomes; null: it is left.
void fetchInside(GpuLowering&, const EdgeBlock&, Reg outside);
void storeInside(GpuLowering&, const EdgeBlock&);

}  // namespace smalti::gpu
