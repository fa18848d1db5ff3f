// Stores past the caches: of results so big that nobody would find them there again.
#pragma once

#include <vector>

#include "cpu/Processor.h"
#include "cpu/lower/Registers.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// Nobody would find all of an array of that size in a cache of the core's.
bool exceedsCaches(int64_t bytes, const Processor&);

/// By result: it is too big for the caches, and the kernel only ever stores to it, each block once.
std::vector<bool> worthStreaming(const KernelPackage&, const Processor&);

/// The pointer to an array that begins at a multiple of a cache line.
void assumeLineAligned(llvm::LoadInst& pointer);
/// The store may go past the caches, if it turns out to be aligned.
void mayStream(llvm::Instruction& store);
/// Settles which of those do, and has them done when the function returns.
void finishStreaming(llvm::Function&);

}  // namespace smalti::cpu
