// Arithmetic on sizes in emitted code that LLVM's builder does not fold.
#pragma once

#include "cpu/emit/View.h"

namespace smalti::cpu {

/// The smaller of two sizes (i64, unsigned); a constant if both are constants.
inline Reg smallerSize(Builder& b, Reg x, Reg y) {
  const auto known = constantOf(x), other = constantOf(y);
  if (known && other) return static_cast<uint64_t>(*known) <= static_cast<uint64_t>(*other) ? x : y;
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, x, y);
}

}  // namespace smalti::cpu
