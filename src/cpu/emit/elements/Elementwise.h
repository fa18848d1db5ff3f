// Element-wise ops on scalars and vectors: one emitter per op of the table of ops/ElementwiseOps.h.
#pragma once

#include <span>

#include "cpu/emit/elements/Registers.h"
#include "cpu/ops/ElementwiseOps.h"
#include "mlir/IR/Operation.h"

namespace smalti::cpu {

struct ElementOp {
  Builder& b;
  mlir::Operation& op;
  std::span<const Reg> operands;  ///< all with the same number of lanes
  DType in, out;                  ///< elements of the first operand and of the result
};
/// Emits the op, for dtypes that its row in that table accepts.
using EmitElement = Reg (*)(const ElementOp&);

/// Null: isNativeElementwise() is false.
EmitElement findElementwise(mlir::Operation&);
/// The emitter of an op by its name, whatever its dtypes; null: no element-wise op has that name.
EmitElement elementwiseEmitter(llvm::StringRef name);

}  // namespace smalti::cpu
