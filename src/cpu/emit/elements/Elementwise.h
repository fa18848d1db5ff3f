// Element-wise ops on scalars and vectors: one emitter per op, found by name.
#pragma once

#include <span>

#include "cpu/analysis/NativeOps.h"
#include "cpu/emit/elements/Registers.h"
#include "mlir/IR/Operation.h"

namespace smalti::cpu {

struct ElementOp {
  Builder& b;
  mlir::Operation& op;
  std::span<const Reg> operands;  ///< all with the same number of lanes
  DType in, out;                  ///< elements of the first operand and of the result
};
/// Emits the op, for dtypes that its row in the table allows.
using EmitElement = Reg (*)(const ElementOp&);

/// Null for ops that are not element-wise, or that have no native code for their dtypes.
EmitElement findElementwise(mlir::Operation&);

}  // namespace smalti::cpu
