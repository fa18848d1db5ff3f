// Lets exponentials and quotients of f32 be less exact where all that comes of them is rounded to 16 bits.
//
//   before                                       after
//   %e = math.exp %x : f32                       %e = math.exp %x {tolerance = array<f64: 2^-124, 2^-17>}
//   %d = arith.addf %e, %one                     %d = arith.addf %e, %one
//   %q = arith.divf %y, %d                       %q = arith.divf %y, %d {tolerance = array<f64: 0, 2^-22>}
//   %r = arith.truncf %q : f32 to bf16           %r = arith.truncf %q : f32 to bf16
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::gpu {

/// The values between such an op and the roundings are sums, differences, products, quotients, roots, maxima, minima
/// and selections, reductions of these kinds, and moves. Exponentials may then be wrong by 3 + |exponent| units in
/// the last place and be 0 below 2^-124, quotients by 2 units: the former is 2^-17 at most, the rounding 2^-9 or 2^-12.
/// Exponentials of 16 bits too, and quotients of bf16, which stay exact. nullopt: there are none.
std::optional<KernelPackage> shortenRoundedResults(const KernelPackage&);

}  // namespace smalti::gpu
