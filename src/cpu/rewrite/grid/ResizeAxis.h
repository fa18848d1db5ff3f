// Resizes the blocks along a grid axis, if nothing but shapes depends on their size.
#pragma once

#include <cstdint>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

class AxisDims;

/// Resizes the dimensions of the kernel's values that the axis determines.
void resizeValues(KernelPackage&, const AxisDims&, int axis, int64_t block);
/// Resizes every dimension that the axis determines. The axis must be free (AxisDims.h).
void resizeAxis(KernelPackage&, int axis, int64_t block);

/// Whether every step writes blocks of its own, and reads only inputs.
bool independentSteps(const KernelPackage&);

}  // namespace smalti::cpu
