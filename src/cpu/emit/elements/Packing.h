// Element-wise ops that pack several elements into a word, or round with random bits.
#pragma once

#include "cpu/emit/elements/Elementwise.h"

namespace smalti::cpu {

// Each takes the dtypes of the first operand and of the result.

/// tpu.pack_elementwise (S-E18).
bool packsElements(mlir::Operation&, DType in, DType out);
Reg packElements(const ElementOp&);
/// tpu.unpack_elementwise (S-E18).
bool unpacksElements(mlir::Operation&, DType in, DType out);
Reg unpackElements(const ElementOp&);
/// tpu.stochastic_convert (S-E19), of f32 to floats.
bool convertsStochastically(mlir::Operation&, DType in, DType out);
Reg convertStochastically(const ElementOp&);

}  // namespace smalti::cpu
