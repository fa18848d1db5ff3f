#include "eval/shape/TransposeTile.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "eval/contract/Kernels.h"

namespace smalti::eval {
namespace {

/// Rows and columns done together: few pages at a time, neighbouring cache lines one after the other.
constexpr int64_t kBlock = 64;

template <class T, int kBytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kBytes)));
  typedef T Unaligned __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
};

/// A square as wide as a vector of kBytes. Every processor interleaves vectors of up to 16 bytes in one instruction.
template <class T, int kBytes>
struct Square {
  static constexpr int kSide = kBytes / sizeof(T);
  using Vec = typename VectorOf<T, kBytes>::Type;
  using Unaligned = typename VectorOf<T, kBytes>::Unaligned;
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

template <class T>
void transposeEach(const T* src, int64_t srcStride, T* dst, int64_t dstStride, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) dst[i * dstStride + j] = src[j * srcStride + i];
}

/// Squares of kBytes, then the strips that are left by smaller ones.
template <class T, int kBytes = 16>
void transposeSquares(const T* src, int64_t srcStride, T* dst, int64_t dstStride, int64_t rows, int64_t columns) {
  constexpr int64_t kSide = kBytes / sizeof(T);
  if constexpr (kSide < 2) {
    transposeEach(src, srcStride, dst, dstStride, rows, columns);
  } else {
    if (rows == 0 || columns == 0) return;
    const int64_t wholeRows = rows - rows % kSide, wholeColumns = columns - columns % kSide;
    Square<T, kBytes> square;
    for (int64_t j = 0; j < wholeColumns; j += kSide)
      for (int64_t i = 0; i < wholeRows; i += kSide)
        square.transpose(src + j * srcStride + i, srcStride, dst + i * dstStride + j, dstStride);
    constexpr auto smaller = transposeSquares<T, kBytes / 2>;
    smaller(src + wholeColumns * srcStride, srcStride, dst + wholeColumns, dstStride, wholeRows,
            columns - wholeColumns);
    smaller(src + wholeRows, srcStride, dst + wholeRows * dstStride, dstStride, rows - wholeRows, columns);
  }
}

/// 32-bit elements: squares of the widest vectors there are, the strips that are left by small ones.
void transposeWide(const uint32_t* src, int64_t srcStride, uint32_t* dst, int64_t dstStride, int64_t rows,
                   int64_t columns) {
  const ContractKernels& kernels = contractKernels();
  const int64_t wholeRows = rows - rows % kernels.lanes, wholeColumns = columns - columns % kernels.lanes;
  kernels.transposeWords(src, srcStride, wholeColumns, wholeRows, dst, dstStride);
  transposeSquares(src + wholeColumns * srcStride, srcStride, dst + wholeColumns, dstStride, wholeRows,
                   columns - wholeColumns);
  transposeSquares(src + wholeRows, srcStride, dst + wholeRows * dstStride, dstStride, rows - wholeRows, columns);
}

/// Lines this far apart share so few sets of the cache that a block of them does not stay there.
template <class T>
bool stridesCollide(int64_t stride) {
  return stride * sizeof(T) % 1024 == 0;
}

/// A block by way of dense copies, so that only whole lines move between it and the strided views.
template <class T, class F>
void transposeCopied(const T* src, int64_t srcStride, T* dst, int64_t dstStride, int64_t rows, int64_t columns,
                     F transpose) {
  alignas(64) T in[kBlock * kBlock], out[kBlock * kBlock];
  for (int64_t j = 0; j < columns; ++j) std::memcpy(in + j * kBlock, src + j * srcStride, rows * sizeof(T));
  transpose(in, kBlock, out, kBlock, rows, columns);
  for (int64_t i = 0; i < rows; ++i) std::memcpy(dst + i * dstStride, out + i * kBlock, columns * sizeof(T));
}

template <class T, class F>
void inBlocks(const T* src, int64_t srcStride, T* dst, int64_t dstStride, int64_t rows, int64_t columns, F transpose) {
  const bool copied = rows > 16 && columns > 16 && (stridesCollide<T>(srcStride) || stridesCollide<T>(dstStride));
  for (int64_t j = 0; j < columns; j += kBlock)
    for (int64_t i = 0; i < rows; i += kBlock) {
      const T* from = src + j * srcStride + i;
      T* to = dst + i * dstStride + j;
      const int64_t m = std::min(kBlock, rows - i), n = std::min(kBlock, columns - j);
      if (copied)
        transposeCopied(from, srcStride, to, dstStride, m, n, transpose);
      else
        transpose(from, srcStride, to, dstStride, m, n);
    }
}

}  // namespace

void transposeTile(const uint8_t* src, int64_t srcStride, uint8_t* dst, int64_t dstStride, int64_t rows,
                   int64_t columns) {
  inBlocks(src, srcStride, dst, dstStride, rows, columns, transposeSquares<uint8_t>);
}
void transposeTile(const uint16_t* src, int64_t srcStride, uint16_t* dst, int64_t dstStride, int64_t rows,
                   int64_t columns) {
  inBlocks(src, srcStride, dst, dstStride, rows, columns, transposeSquares<uint16_t>);
}
void transposeTile(const uint32_t* src, int64_t srcStride, uint32_t* dst, int64_t dstStride, int64_t rows,
                   int64_t columns) {
  inBlocks(src, srcStride, dst, dstStride, rows, columns, transposeWide);
}
void transposeTile(const uint64_t* src, int64_t srcStride, uint64_t* dst, int64_t dstStride, int64_t rows,
                   int64_t columns) {
  inBlocks(src, srcStride, dst, dstStride, rows, columns, transposeSquares<uint64_t>);
}

}  // namespace smalti::eval
