// The innermost loops of matrix products, one set per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smalti::eval {

/// Elements are 32-bit words: f32, or u32 for wrapping integers; packing does not care which.
using Word = uint32_t;

/// C[rows × width] (+)= A · B over k. A: element (i, p) at a[i * aStride + p] (row-major) or a[p * aStride + i]
/// (column-major); B: row p at b + p * bStride, `width` contiguous elements; C: row i at c + i * cStride.
using MicroKernel = void (*)(int64_t k, const void* a, int64_t aStride, const void* b, int64_t bStride, void* c,
                             int64_t cStride, bool accumulate);

inline constexpr int kMaxKernelRows = 14;

struct MicroKernelTable {
  /// By [rows - 1][1: two vectors wide, 0: one].
  MicroKernel rowMajor[kMaxKernelRows][2];
  MicroKernel columnMajor[kMaxKernelRows][2];
};

struct ContractKernels {
  int lanes;    ///< words per vector
  int maxRows;  ///< rows of the largest microkernel
  MicroKernelTable f32, u32;
  /// to[p * toStride + j] = from[j * fromStride + p] for j < n, p < k.
  void (*transposeWords)(const Word* from, int64_t fromStride, int64_t n, int64_t k, Word* to, int64_t toStride);
  /// Sum of a[i] * b[i].
  float (*dot)(const float* a, const float* b, int64_t n);
  /// c[j] += sum over i < rows of x[i] * from[i * stride + j], j < n; rows ≤ 8.
  void (*addRows)(const float* from, int64_t stride, const float* x, int64_t rows, int64_t n, float* c);
};

/// For the instruction set in use.
const ContractKernels& contractKernels();

namespace baseline {
extern const ContractKernels kContractKernels;
}
namespace avx2 {
extern const ContractKernels kContractKernels;
}
namespace avx512 {
extern const ContractKernels kContractKernels;
}

}  // namespace smalti::eval
