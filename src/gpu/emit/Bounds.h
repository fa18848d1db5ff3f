// Checks that an access is inside its ref.
#pragma once

#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {

/// start ≥ 0 and start + span ≤ bound, where span ≥ 0 counts from the first element touched to the last.
inline Reg fits(GpuLowering& l, Reg start, Reg span, Reg bound) {
  return l.b.CreateAnd(l.b.CreateICmpULE(span, bound), l.b.CreateICmpULE(start, l.b.CreateSub(bound, span)));
}

/// Elements from the first one touched to the last.
inline Reg spanOf(GpuLowering& l, int64_t size, int64_t step) {
  int64_t span = 0;
  if (__builtin_mul_overflow(size - 1, step, &span) || span == INT64_MAX) return l.index(INT64_MAX);
  return l.index(span + 1);
}

}  // namespace smalti::gpu
