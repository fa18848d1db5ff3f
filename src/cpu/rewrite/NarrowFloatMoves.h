// Moves narrow floats without conversion, if a kernel widens or unpacks them only to narrow them again.
//
//   before                                                         after
//   %w = arith.extf %x : bf16 to f32                               %y = arith.select %mask, %x, 0 : bf16
//   %s = arith.select %mask, %w, 0 : f32
//   %y = arith.truncf %s : f32 to bf16
//
//   %u = memref_bitcast %ref : 64x128xbf16 to 32x128xi32           %k = strided_load %ref[0, 0] {strides 16, 1}
//   %w = strided_load %u[0, 0] {strides 8, 1} : 4x128xi32          %v = strided_load %ref[1, 0] {strides 16, 1}
//   %k = arith.truncf (bitcast (%w << 16) : f32) : bf16
//   %v = arith.truncf (bitcast (%w & 0xffff0000) : f32) : bf16
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// A TPU cannot select bf16, and reads every other row of them as halves of words. This pass removes these detours, for
/// example for masked blocks of keys and values, or for keys and values interleaved in a cache. All elements keep their
/// bits, except for the payload of a NaN. nullopt: the kernel has no such detours.
std::optional<KernelPackage> moveNarrowFloats(const KernelPackage&);

}  // namespace smalti::cpu
