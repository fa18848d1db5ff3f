// Float ops on narrow floats: blocks are widened to f32, computed there and rounded back, one rounding per op.
#pragma once

#include "eval/elementwise/Tables.h"

namespace smalti::eval {

/// Ops are numbered through the tables: floatUnary, then mathUnary; floatBinary, then mathBinary.
UnaryKernel narrowUnary(int op, DType t);
BinaryKernel narrowBinary(int op, DType t);
/// To pred; numbered as floatTest and floatCompare.
UnaryKernel narrowTest(int op, DType t);
BinaryKernel narrowCompare(int op, DType t);

const UnaryRow* floatUnaryRow(const Tables&, int op);
const BinaryRow* floatBinaryRow(const Tables&, int op);

}  // namespace smalti::eval
