// Lets the weights of a softmax be less exact where they are rounded to 16 bits.
//
//   before                                            after
//   %m = maximum of the rows of %s                    %m = maximum of the rows of %s
//   %p = math.exp (%s - %m) : vector<8x128xf32>       %p = math.exp (%s - %m) {tolerance = array<f64: 2^-124, 2^-17>}
//   %l = vector.multi_reduction <add>, %p, %zero      %l = vector.multi_reduction <add>, %p, %zero
//   %w = arith.truncf %p : f32 to bf16                %w = arith.truncf %p : f32 to bf16
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// exp and exp2 of f32 exponents from which the maximum of their row, or a larger one, has been subtracted, if the
/// results are rounded to 16 bits and otherwise only summed. Where it is the maximum of the row itself, so that a
/// weight is 1, they may be divided by their sum before. Such a weight may be wrong by 3 + |exponent| units in the last
/// place, and those below 2^-124 may be 0: little beside rounding, and next to nothing in the sum, to which large
/// exponents contribute little. nullopt: the kernel has none.
std::optional<KernelPackage> approximateExponentials(const KernelPackage&);

}  // namespace smalti::cpu
