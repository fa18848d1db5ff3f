// Loops of a kernel's body that wait for a slow unit.
#pragma once

#include <vector>

#include "ir/KernelPackage.h"
#include "tpu/chip/Chip.h"

namespace smalti::sim {

/// SM6639 for each innermost loop in which the transcendental or the cross-lane units take much longer than everything
/// else: the op that costs most, with its line.
std::vector<Diagnostic> slowLoops(const KernelPackage&, const tpu::Chip&);

}  // namespace smalti::sim
