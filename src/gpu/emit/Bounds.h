// Checks that an access is inside its ref.
#pragma once

#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {

/// start ≥ 0 and start + span ≤ bound, where span ≥ 0 counts from the first element touched to the last.
inline Reg fits(GpuLowering& l, Reg start, Reg span, Reg bound) {
  return l.b.CreateAnd(l.b.CreateICmpULE(span, bound), l.b.CreateICmpULE(start, l.b.CreateSub(bound, span)));
}

}  // namespace smalti::gpu
