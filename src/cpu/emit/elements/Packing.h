// Element-wise ops that pack several elements into a word, or round with random bits.
#pragma once

#include "cpu/emit/elements/Elementwise.h"

namespace smalti::cpu {

/// tpu.pack_elementwise (S-E18).
Reg packElements(const ElementOp&);
/// tpu.unpack_elementwise (S-E18).
Reg unpackElements(const ElementOp&);
/// tpu.stochastic_convert (S-E19), of f32 to floats.
Reg convertStochastically(const ElementOp&);

}  // namespace smalti::cpu
