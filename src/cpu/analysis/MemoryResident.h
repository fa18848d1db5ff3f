// Arrays that are too big for the caches.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/Processor.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// Nobody would find all of an array of that size in a cache of the core's.
bool isMemoryResident(int64_t bytes, const Processor&);

/// By result: it is memory-resident, and the kernel only ever stores to it, each block once. Such results are stored
/// past the caches (emit/Streaming.h).
std::vector<bool> worthStreaming(const KernelPackage&, const Processor&);

}  // namespace smalti::cpu
