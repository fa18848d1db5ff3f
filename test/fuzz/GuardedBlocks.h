// Memory whose surroundings nobody may touch.
#pragma once

#include <cstddef>

namespace smalti::fuzz {

enum class Guard {
  off,
  behind,  ///< blocks end where a page begins that nobody may touch
  before,  ///< blocks begin where such a page ends
};
/// From now on, of all blocks that arrays and kernels take in this process; they are not given back any more.
void guardBlocks(Guard);
/// A guarded block; `alignment` is a power of two, at most a page. Null when there is no memory.
void* takeGuarded(size_t bytes, size_t alignment, Guard);
/// True when somebody wrote to the bytes between a guarded block and the page that it does not reach.
bool wroteOutsideABlock();

}  // namespace smalti::fuzz
