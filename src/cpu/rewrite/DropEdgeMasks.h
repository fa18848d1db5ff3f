// Sums over an axis whose last block hangs over: what lies past the end is put to zero in every step.
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// The kernel without `where(program_id * block + iota < extent, x, 0)` along the last grid axis, when all that it
/// reads along that axis goes through one. It is the same only where its blocks of that axis do not hang over.
/// nullopt: there is nothing like that.
std::optional<KernelPackage> dropEdgeMasks(const KernelPackage&);

}  // namespace smalti::cpu
