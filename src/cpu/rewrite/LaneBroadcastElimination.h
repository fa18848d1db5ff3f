// Values whose columns are all the same.
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// Kernels for TPUs keep one number per row in every lane of a register: the running maximum and sum of attention, say.
/// The same kernel with such values computed once per row, as columns of their own, and scratch buffers that hold
/// nothing else one column wide. Every element stays what it was, bit for bit. nullopt: the kernel has none.
std::optional<KernelPackage> eliminateLaneBroadcasts(const KernelPackage&);

}  // namespace smalti::cpu
