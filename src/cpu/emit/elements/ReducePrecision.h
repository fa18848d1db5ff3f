#pragma once

#include "cpu/emit/elements/Elementwise.h"

namespace smalti::cpu {

/// tpu.reduce_precision, as src/eval/bits/ReducePrecision.cpp; of f32 and bf16.
Reg reducePrecision(const ElementOp&);

}  // namespace smalti::cpu
