// Computes what has the same value in all lanes once per row.
//
//   before                                                         after
//   %m = vector.broadcast %row : 16x1 to 16x128                    %m = %row : 16x1
//   %n = arith.maximumf %old, %m : 16x128                          %n = arith.maximumf %old, %m : 16x1
//   store %n, %scratch : memref<16x128>                            store %n, %scratch : memref<16x1>
//   %d = arith.subf %x, %n : 16x128                                %d = arith.subf %x, (vector.broadcast %n) : 16x128
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// Kernels for TPUs keep one number per row in every lane of a register: the running maximum and sum of attention, say.
/// The same kernel with such values computed once per row, as columns of their own, and scratch buffers that hold
/// nothing else one column wide. Every element stays what it was, bit for bit. nullopt: the kernel has none.
std::optional<KernelPackage> eliminateLaneBroadcasts(const KernelPackage&);

}  // namespace smalti::cpu
