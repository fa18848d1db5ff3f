// A copy by the DMA engine, with a semaphore that lives as long as it does.
#pragma once

#include "smalti/pallas_call.h"

namespace smalti::kernels {

/// x, copied from memory to memory without passing the core.
Array dma_copy(const Array& x);
PallasCall dma_copy_call(const ArrayType& x);

}  // namespace smalti::kernels
