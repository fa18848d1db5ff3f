// Non-temporal stores: of results too large to remain in the caches.
#pragma once

#include "llvm/IR/Instructions.h"

namespace smalti::cpu {

/// The pointer to an array that begins at a multiple of a cache line.
void assumeLineAligned(llvm::LoadInst& pointer);
/// The store may go past the caches, if it turns out to be aligned.
void mayStream(llvm::Instruction& store);
/// Settles which of those do, and has them done when the function returns.
void finishStreaming(llvm::Function&);

}  // namespace smalti::cpu
