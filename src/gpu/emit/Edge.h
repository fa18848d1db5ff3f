// Partial blocks: elements inside the array are copied to a buffer and back.
#pragma once

#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {

struct EdgeBlock {
  const View& array;
  const View& buffer;
  const std::vector<Reg>& starts;  ///< first element of the block in the array
};

/// `outside`: the value of the rest of the buffer; null: it keeps its values.
void fetchInside(GpuLowering&, const EdgeBlock&, Reg outside);
void storeInside(GpuLowering&, const EdgeBlock&);

}  // namespace smalti::gpu
