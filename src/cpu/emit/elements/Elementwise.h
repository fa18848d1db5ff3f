// Ops that work element by element, on scalars and vectors alike: one emitter per op, found by name.
#pragma once

#include <span>

#include "cpu/analysis/NativeOps.h"
#include "cpu/emit/elements/Registers.h"
#include "mlir/IR/Operation.h"

namespace smalti::cpu {

struct ElementOp {
  Builder& b;
  mlir::Operation& op;
  std::span<const Reg> operands;  ///< all with as many lanes
  DType in, out;                  ///< elements of the first operand and of the result
};
/// What the op computes, of dtypes that its row in the table takes.
using EmitElement = Reg (*)(const ElementOp&);

/// Null for ops that are not element-wise, or that only src/eval computes for their dtypes.
EmitElement findElementwise(mlir::Operation&);

}  // namespace smalti::cpu
