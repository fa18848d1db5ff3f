// Copies between memory of different dtypes.
#pragma once

#include "cpu/emit/NativeLowering.h"

namespace smalti::cpu {

/// Element by element between f32 and a narrower float, or from an integer to a wider one or to f32; equal shapes.
void convertElements(NativeLowering&, const View& from, const View& to);

}  // namespace smalti::cpu
