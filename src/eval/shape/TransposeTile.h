// Transposition of a 2-D piece whose two views are each contiguous along one dim.
#pragma once

#include <cstdint>

namespace smalti::eval {

/// dst[i * dstStride + j] = src[j * srcStride + i] for i < rows, j < columns.
void transposeTile(const uint8_t* src, int64_t srcStride, uint8_t* dst, int64_t dstStride, int64_t rows,
                   int64_t columns);
void transposeTile(const uint16_t* src, int64_t srcStride, uint16_t* dst, int64_t dstStride, int64_t rows,
                   int64_t columns);
void transposeTile(const uint32_t* src, int64_t srcStride, uint32_t* dst, int64_t dstStride, int64_t rows,
                   int64_t columns);
void transposeTile(const uint64_t* src, int64_t srcStride, uint64_t* dst, int64_t dstStride, int64_t rows,
                   int64_t columns);

}  // namespace smalti::eval
