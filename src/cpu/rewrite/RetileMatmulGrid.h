// Grids of matrix products, in blocks for this machine: a block that fits a TPU's VMEM is not what a processor's caches
// and cores want.
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

/// A kernel that computes the same from the same arrays, in other steps: the sum over the contracted axis in one, rows
/// and columns in as many as `cores` and the caches ask for. Integers are the same bit for bit; of floats the order of
/// summation is the nest's own, which depends on the sizes alone. nullopt: the kernel's own steps stay.
std::optional<KernelPackage> retileMatmulGrid(const KernelPackage&, const Processor&, int cores);

}  // namespace smalti::cpu
