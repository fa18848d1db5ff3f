// Kernels as this target would rather have them.
#pragma once

#include <optional>

#include "cpu/Processor.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// A kernel that computes the same from the same arrays (EqualColumns.h, EdgeMasks.h, Reblock.h, FitBlocks.h). nullopt:
/// it is good as it is.
std::optional<KernelPackage> rewritten(const KernelPackage&, const Processor&, int cores);

}  // namespace smalti::cpu
