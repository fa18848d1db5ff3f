// Transposition of a 2-D piece whose two views are each contiguous along one dim.
#pragma once

#include <algorithm>
#include <cstdint>

namespace smalti::eval {

/// dst[i * dstStride + j] = src[j * srcStride + i] for i < rows, j < columns.
template <class T>
void transposeTile(const T* src, int64_t srcStride, T* dst, int64_t dstStride, int64_t rows, int64_t columns) {
  constexpr int64_t kBlock = 16;
  for (int64_t i0 = 0; i0 < rows; i0 += kBlock)
    for (int64_t j0 = 0; j0 < columns; j0 += kBlock) {
      const int64_t i1 = std::min(i0 + kBlock, rows), j1 = std::min(j0 + kBlock, columns);
      for (int64_t i = i0; i < i1; ++i)
        for (int64_t j = j0; j < j1; ++j) dst[i * dstStride + j] = src[j * srcStride + i];
    }
}

}  // namespace smalti::eval
