// Several elements in one word, and random rounding: element by element, from bits.
#pragma once

#include "cpu/emit/elements/Elementwise.h"

namespace smalti::cpu {

// Each with the dtypes that it takes, of the first operand and of the result.

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
