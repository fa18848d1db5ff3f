// Computes values that are equal in all lanes once per row.
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

/// Kernels for TPUs keep one number per row in all lanes of a register, such as the running maximum of attention. This
/// pass computes such values once per row, as vectors of one column, and makes scratch buffers that hold nothing else
/// one column wide. All elements keep their bits. nullopt: the kernel has no such values.
std::optional<KernelPackage> eliminateLaneBroadcasts(const KernelPackage&);

}  // namespace smalti::cpu
