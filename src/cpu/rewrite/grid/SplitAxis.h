// Divides the blocks along a grid axis into parts, each of which is a step of its own.
//
//   before: grid (i, j), blocks of 512 rows                        after: grid (4 i, j), blocks of 128 rows
//   %row = tpu.iota 0 : 512x64                                     %row = tpu.iota 0 + (%i mod 4) * 128 : 128x64
//   %first = %i * 512                                              %first = (%i / 4) * 512
#pragma once

#include <cstdint>
#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

class AxisDims;

/// Whether the kernel computes each element along the axis by itself, and points of the axis are independent, so that
/// its blocks can be divided. `dims`: AxisDims::ofParts of the kernel.
bool canSplitAxis(const KernelPackage&, const AxisDims& dims, int axis);

/// The kernel with blocks of `part` elements along the axis, which divides the size of its blocks. All scalars keep
/// their values. nullopt: canSplitAxis is false.
std::optional<KernelPackage> splitAxis(const KernelPackage&, int axis, int64_t part);

}  // namespace smalti::cpu
