// Blocks of another size along a grid axis, where nothing but the sizes changes with them.
#pragma once

#include <cstdint>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// Gives all that follows the axis blocks of another size. The axis is free (AxisDims.h).
void resizeAxis(KernelPackage&, int axis, int64_t block);

/// Every step writes blocks of its own, and reads nothing but its inputs.
bool independentSteps(const KernelPackage&);

}  // namespace smalti::cpu
