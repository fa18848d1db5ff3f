// Multiplies floats as narrow as they were before the kernel widened them.
//
//   before                                                         after
//   %w = arith.extf %v : 128x64xbf16 to f32                        tpu.matmul %p, %v : f32, bf16
//   tpu.matmul %p, %w : f32, f32
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// The right operand of a product, or both, are bf16 again if the kernel has widened them to f32: products of f32 are
/// exact, so that the result is the same up to the order of its sums, and processors multiply bf16 faster. nullopt: the
/// kernel has no such products.
std::optional<KernelPackage> multiplyNarrowFloats(const KernelPackage&);

}  // namespace smalti::cpu
