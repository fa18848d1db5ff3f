// Lets exponentials be less exact where 16 bits are left of them.
//
//   before                                           after
//   %p = math.exp %s : vector<8x128xf32>             %p = math.exp %s {tolerance = array<f64: 2^-124, 2^-17>}
//   %l = vector.multi_reduction <add>, %p, %zero     %l = vector.multi_reduction <add>, %p, %zero
//   %w = arith.truncf %p : f32 to bf16               %w = arith.truncf %p : f32 to bf16
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// exp and exp2 of f32 whose results, possibly scaled, are only rounded to 16 bits and summed, as the weights of
/// attention are: an error of 2^-17 is small beside that of the rounding, which is 2^-9 for bf16. nullopt: the kernel
/// has none.
std::optional<KernelPackage> approximateExponentials(const KernelPackage&);

}  // namespace smalti::cpu
