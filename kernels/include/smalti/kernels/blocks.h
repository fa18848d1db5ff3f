// Sizes of blocks that a TPU takes: the last axis whole or a multiple of 128, the one before whole or a multiple of 8.
#pragma once

#include <algorithm>
#include <cstdint>

namespace smalti::kernels {

/// A block along an axis of `size` elements: the whole axis if it is at most `wanted`; else the largest multiple of
/// `multiple` in [wanted / 2, wanted] that divides the axis; else `wanted`, and the last block is partial.
inline int64_t block_along(int64_t size, int64_t wanted, int64_t multiple = 128) {
  if (size <= wanted) return std::max<int64_t>(size, 1);
  for (int64_t block = wanted; block >= wanted / 2 && block >= multiple; block -= multiple)
    if (size % block == 0) return block;
  return wanted;
}

}  // namespace smalti::kernels
