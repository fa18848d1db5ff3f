// Non-temporal stores of results that are too large for the caches.
#pragma once

#include "llvm/IR/Instructions.h"

namespace smalti::cpu {

/// Marks the pointer to an array as aligned to a cache line.
void assumeLineAligned(llvm::LoadInst& pointer);
/// Marks a store as non-temporal, if it turns out to be aligned.
void mayStream(llvm::Instruction& store);
/// Decides which of the marked stores are non-temporal, and adds a fence before the function returns.
void finishStreaming(llvm::Function&);
/// Adds a fence before the function returns, if it has non-temporal stores.
void fenceStreaming(llvm::Function&);

}  // namespace smalti::cpu
