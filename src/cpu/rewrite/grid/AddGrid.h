// Gives a kernel without a grid one whose steps compute parts of its results, so that threads share them.
//
//   before: no grid, refs 4096x1024                                after: grid (4), blocks 1024x1024
//   %x = vector.load %ref : vector<4096x1024xf32>                  %x = vector.load %ref : vector<1024x1024xf32>
#pragma once

#include <cstdint>
#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// The most independent steps per core; more would not balance the cores better. Chosen, not measured.
inline constexpr int64_t kPartsPerCore = 4;

/// A kernel that computes the same in about `parts` independent steps, of rows or of another leading dimension. A
/// kernel with one product gets one step, with axes for its rows and columns, which retileMatmulGrid divides. nullopt:
/// the kernel has a grid, or its results cannot be computed in parts.
std::optional<KernelPackage> divideIntoSteps(const KernelPackage&, int64_t parts);

/// The same, in as many steps as suit `cores`; nullopt also if the kernel has too little work for two of them.
std::optional<KernelPackage> addGrid(const KernelPackage&, int cores);

}  // namespace smalti::cpu
