#pragma once

#include "cpu/lower/Elementwise.h"

namespace smalti::cpu {

/// tpu.reduce_precision, as src/eval/bits/ReducePrecision.cpp.
Reg reducePrecision(const ElementOp&);

}  // namespace smalti::cpu
