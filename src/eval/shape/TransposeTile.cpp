#include "eval/shape/TransposeTile.h"

#include <algorithm>
#include <utility>

#include "eval/contract/Kernels.h"

namespace smalti::eval {
namespace {

constexpr int kVectorBytes = 16;  // every processor interleaves vectors of this size in one instruction

template <class T>
struct Square {
  static constexpr int kSide = kVectorBytes / sizeof(T);
  typedef T Vec __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
  Vec rows[kSide];

  /// One round: row i and row i + kSide/2 interleaved become rows 2i and 2i + 1; log2(kSide) rounds transpose.
  template <int... kLane>
  void interleave(std::integer_sequence<int, kLane...>) {
    Vec next[kSide];
    for (int i = 0; i < kSide / 2; ++i) {
      const Vec a = rows[i], b = rows[i + kSide / 2];
      next[2 * i] = __builtin_shufflevector(a, b, (kLane / 2 + kLane % 2 * kSide)...);
      next[2 * i + 1] = __builtin_shufflevector(a, b, (kLane / 2 + kSide / 2 + kLane % 2 * kSide)...);
    }
    for (int i = 0; i < kSide; ++i) rows[i] = next[i];
  }
  void transpose(const T* src, int64_t srcStride, T* dst, int64_t dstStride) {
    for (int i = 0; i < kSide; ++i) rows[i] = *reinterpret_cast<const Unaligned*>(src + i * srcStride);
    for (int side = kSide; side > 1; side /= 2) interleave(std::make_integer_sequence<int, kSide>());
    for (int i = 0; i < kSide; ++i) *reinterpret_cast<Unaligned*>(dst + i * dstStride) = rows[i];
  }
};

/// Squares in blocks of a cache line of the source, so that each of its lines is read once.
template <class T>
void transposeSquares(const T* src, int64_t srcStride, T* dst, int64_t dstStride, int64_t rows, int64_t columns) {
  constexpr int64_t kSide = Square<T>::kSide, kLine = 64 / sizeof(T);
  const int64_t wholeRows = rows - rows % kSide, wholeColumns = columns - columns % kSide;
  Square<T> square;
  for (int64_t i0 = 0; i0 < wholeRows; i0 += kLine)
    for (int64_t j = 0; j < wholeColumns; j += kSide)
      for (int64_t i = i0; i < std::min(i0 + kLine, wholeRows); i += kSide)
        square.transpose(src + j * srcStride + i, srcStride, dst + i * dstStride + j, dstStride);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = i < wholeRows ? wholeColumns : 0; j < columns; ++j)
      dst[i * dstStride + j] = src[j * srcStride + i];
}

}  // namespace

void transposeTile(const uint8_t* src, int64_t srcStride, uint8_t* dst, int64_t dstStride, int64_t rows,
                   int64_t columns) {
  transposeSquares(src, srcStride, dst, dstStride, rows, columns);
}
void transposeTile(const uint16_t* src, int64_t srcStride, uint16_t* dst, int64_t dstStride, int64_t rows,
                   int64_t columns) {
  transposeSquares(src, srcStride, dst, dstStride, rows, columns);
}
void transposeTile(const uint32_t* src, int64_t srcStride, uint32_t* dst, int64_t dstStride, int64_t rows,
                   int64_t columns) {
  contractKernels().transposeWords(src, srcStride, columns, rows, dst, dstStride);
}
void transposeTile(const uint64_t* src, int64_t srcStride, uint64_t* dst, int64_t dstStride, int64_t rows,
                   int64_t columns) {
  transposeSquares(src, srcStride, dst, dstStride, rows, columns);
}

}  // namespace smalti::eval
