// Gives kernels with independent steps blocks that divide their arrays and consist of whole rows: no block
// is partial, so that every block is a view, and arrays are read in memory order.
//
//   before: array 4000x4000, grid (16, 16)                         after: grid (125, 1)
//   %x = vector.load %ref : vector<256x256xf32>                    %x = vector.load %ref : vector<32x4000xf32>
#pragma once

#include <optional>
#include <string_view>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

inline constexpr std::string_view kRetileWithoutPadding = "retile-without-padding";

/// A kernel that computes the same in blocks of about as many elements, of whole rows where possible.
/// nullopt: its blocks have this form already, or cannot have it.
std::optional<KernelPackage> retileWithoutPadding(const KernelPackage&);

/// The same, but only for kernels with partial blocks.
std::optional<KernelPackage> retilePartialBlocks(const KernelPackage&);

}  // namespace smalti::cpu
