// Chooses new blocks for grids of matrix products: blocks that suit a TPU's VMEM rarely suit a processor's caches and
// cores.
//
//   before: grid (4, 4, 4), blocks 128x128 · 128x128               after: grid (1, 1, 1), blocks 512x512 · 512x512
//   if k == 0: store 0, %acc                                       %p = tpu.matmul %a, %b, 0
//   %p = tpu.matmul %a, %b, 0                                      store %p, %out
//   store %acc + %p, %acc
//   if k == 3: store %acc, %out
#pragma once

#include <optional>

#include "cpu/Processor.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// A kernel that computes the same from the same arrays in other steps: one step for the whole contracted axis, and as
/// many along rows and columns as suit `cores` and the caches. Integers keep their bits; the order of floating-point
/// summation is that of the product's loops, which depends only on sizes. nullopt: the kernel keeps its steps.
std::optional<KernelPackage> retileMatmulGrid(const KernelPackage&, const Processor&, int cores);

}  // namespace smalti::cpu
