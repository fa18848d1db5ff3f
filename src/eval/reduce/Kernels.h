// The innermost loops of reductions, one set per instruction set. All sets add in the same order and give the same
// bits.
#pragma once

#include <cstdint>

#include "eval/Reduce.h"

namespace smalti::eval {

inline constexpr int kReduceKinds = static_cast<int>(ReduceKind::xori) + 1;

template <class T>
struct ReduceLoops {
  /// out[i] = reduction of the n ≥ 1 contiguous elements at from + i * stride, i < count.
  void (*runs)(const T* from, int64_t stride, int64_t count, int64_t n, T* out);
  /// acc[j] = reduction of the `rows` ≥ 1 rows from + i * stride, and of acc[j] itself unless `first`.
  void (*rows)(const T* from, int64_t stride, int64_t rows, int64_t n, T* acc, bool first);
  /// out[i] = a[i] combined with b[i].
  void (*combine)(const T* a, const T* b, int64_t n, T* out);
};

struct ReduceKernels {
  /// By ReduceKind; null functions where the kind does not exist for the type.
  ReduceLoops<float> f32[kReduceKinds];
  ReduceLoops<uint32_t> i32[kReduceKinds];
  /// The first i with from[i] == value, or the first NaN when value is one; n if there is none.
  int64_t (*find)(const float* from, int64_t n, float value);
  /// Where row[j] beats best[j] (NaN beats everything, ties do not): best[j] = row[j], index[j] = at.
  void (*better)(bool isMax, const float* row, int64_t n, int32_t at, float* best, int32_t* index);
};

/// For the instruction set in use.
const ReduceKernels& reduceKernels();

namespace baseline {
extern const ReduceKernels kReduceKernels;
}
namespace avx2 {
extern const ReduceKernels kReduceKernels;
}
namespace avx512 {
extern const ReduceKernels kReduceKernels;
}

}  // namespace smalti::eval
