// Moves the ops between a product and its store before the product, so that the product can be computed in the memory
// of the store.
//
//   before                                                         after
//   %p = tpu.matmul %a, %b, 0                                      %x = vector.load %acc
//   %x = vector.load %acc                                          %y = math.exp %z
//   %y = math.exp %z                                               %p = tpu.matmul %a, %b, 0
//   %s = arith.addf %x, %p                                         %s = arith.addf %x, %p
//   store %s, %acc                                                 store %s, %acc
#pragma once

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// The kernel in which such products, the additions of their results and the stores are consecutive. Only pure ops and
/// loads are moved: no value changes, since nothing between the product and the store writes to memory. If a store has
/// the sum of two products, the first of them is next to it afterwards. nullopt: there is nothing to move.
std::optional<KernelPackage> hoistAboveProducts(const KernelPackage&);

}  // namespace smalti::cpu
