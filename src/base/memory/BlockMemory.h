// Memory for arrays. Large blocks that are given back are kept for the next one that asks: new pages cost more than
// most kernels take to fill them.
#pragma once

#include <cstddef>

namespace smalti {

/// At least `bytes`, 64-byte aligned, not initialised; null if it cannot be allocated.
void* allocateBlock(size_t bytes);
/// `bytes` as it was asked for.
void freeBlock(void* block, size_t bytes);

/// For ForkGate.cpp: no other thread allocates or frees a block in between.
void lockBlocks();
void unlockBlocks();

}  // namespace smalti
