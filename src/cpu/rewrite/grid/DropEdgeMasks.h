// Removes the masks of a reduction whose last block is partial.
//
//   before                                                         after
//   %x = vector.load %ref[…]                                       %x = vector.load %ref[…]
//   %at = program_id(last) * block + iota                          use(%x)
//   %in = arith.cmpi slt, %at, extent
//   %y = arith.select %in, %x, 0
//   use(%y)
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// The kernel without `where(program_id * block + iota < extent, x, 0)` along the last grid axis, if everything that it
/// reads along that axis goes through one. The result is equivalent only if no block of that axis is partial.
/// nullopt: there are no such masks.
std::optional<KernelPackage> dropEdgeMasks(const KernelPackage&);

}  // namespace smalti::cpu
