// Kernels whose steps have nothing to do with each other, in blocks that divide their arrays: none hangs over, so that
// every block is a view.
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// A kernel that computes the same in blocks of about as many elements, whose rows are whole where they may be.
/// nullopt: nothing hangs over, or it must.
std::optional<KernelPackage> fitted(const KernelPackage&);

}  // namespace smalti::cpu
