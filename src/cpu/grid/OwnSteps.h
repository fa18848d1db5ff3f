// The steps of a grid as this machine would have them.
#pragma once

#include <optional>

#include "cpu/Processor.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// A kernel that computes the same from the same arrays in other steps (Reblock.h, FitBlocks.h). nullopt: the kernel's
/// own steps stay.
std::optional<KernelPackage> inOwnSteps(const KernelPackage&, const Processor&, int cores);

}  // namespace smalti::cpu
