// Kernels whose steps have nothing to do with each other, in blocks that divide their arrays and have whole rows: none
// is partial, so that every block is a view, and memory is read in the order in which it lies.
//
//   before: array 4000x4000, grid (16, 16)                         after: grid (125, 1)
//   %x = vector.load %ref : vector<256x256xf32>                    %x = vector.load %ref : vector<32x4000xf32>
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// A kernel that computes the same in blocks of about as many elements, whose rows are whole where they may be.
/// nullopt: they are so, or cannot be.
std::optional<KernelPackage> retileWithoutPadding(const KernelPackage&);

/// The same where a block is partial; nullopt for other kernels.
std::optional<KernelPackage> retilePartialBlocks(const KernelPackage&);

}  // namespace smalti::cpu
