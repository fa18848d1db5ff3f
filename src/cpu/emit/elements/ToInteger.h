// Floats to integers.
#pragma once

#include "cpu/emit/elements/Registers.h"

namespace smalti::cpu {

/// f32 to integers: truncated, then saturated; NaN gives 0.
Reg toIntegers(Builder&, Reg floats, llvm::Type* integers, bool isSigned);

}  // namespace smalti::cpu
