// Which products are skinny, and how their elements are multiplied: for rewrites and plans.
#pragma once

#include <cstdint>

#include "cpu/Processor.h"
#include "smalti/dtype.h"

namespace smalti::cpu {

/// Rows of A up to which a product is skinny: reading B once costs more than multiplying. Fitted with the decode rows
/// of
/// `./do bench cpu` on the processor that docs/performance.md names.
constexpr int64_t kSkinnyRows = 8;

/// Whether pairs of bf16 are multiplied in one instruction, the fastest way without tile registers.
inline bool multipliesBf16Pairs(DType a, DType b, const Processor& p) {
  return a == DType::bf16 && b == DType::bf16 && p.fastBf16Dot;
}

}  // namespace smalti::cpu
