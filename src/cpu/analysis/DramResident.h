// Arrays that are too large for the caches.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/Processor.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// Whether an array of that size is assumed to be in DRAM instead of the core's caches.
bool isInDram(int64_t bytes, const Processor&);

/// Whether each result is memory-resident, and the kernel only stores to it, each block once. Such results are written
/// with non-temporal stores (emit/Streaming.h).
std::vector<bool> usesNonTemporalStores(const KernelPackage&, const Processor&);

}  // namespace smalti::cpu
