// Arithmetic on sizes in emitted code.
#pragma once

#include "cpu/emit/View.h"

namespace smalti::cpu {

/// i1: start ≥ 0 and start + span ≤ bound, where span ≥ 0 counts from the first element touched to the last.
inline Reg fits(Builder& b, Reg start, Reg span, Reg bound) {
  return b.CreateAnd(b.CreateICmpULE(span, bound), b.CreateICmpULE(start, b.CreateSub(bound, span)));
}

/// The smaller of two sizes (i64, unsigned); a constant if both are, which LLVM's builder does not fold.
inline Reg smallerSize(Builder& b, Reg x, Reg y) {
  const auto known = constantOf(x), other = constantOf(y);
  if (known && other) return static_cast<uint64_t>(*known) <= static_cast<uint64_t>(*other) ? x : y;
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, x, y);
}

}  // namespace smalti::cpu
