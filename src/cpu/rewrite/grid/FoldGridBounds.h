// The bounds of grid axes become constants, before rewrites change the grid.
//
//   before                                             after
//   %n = tpu.iteration_bound 1 : i32                   %n = arith.constant 8 : i32
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// The kernel with constants in place of the bounds it asks for, except for dynamic ones: a kernel whose grid has been
/// divided otherwise would be told of its parts. nullopt: the kernel asks for none.
std::optional<KernelPackage> foldGridBounds(const KernelPackage&);

}  // namespace smalti::cpu
