// How "is this element defined" goes through ops: for each value that may hold undefined elements a mask, an i1 for
// each element, computed by ops of the same kernel. The rules are the machine's (src/machine/flat/ops).
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Builders.h"

namespace smalti::cpu {

enum class MaskRule : uint8_t {
  elementwise,  ///< an element is defined when the operands' are
  select,       ///< a defined condition picks
  move,         ///< elements go elsewhere, and their masks with them
  reduce,       ///< defined when everything that goes into it is
  matmul,       ///< as reduce, of rows and columns
  load,
  store,
  ref,       ///< a view of another ref
  allocate,  ///< undefined memory
  none,      ///< operands must be defined, and then results are
};
MaskRule maskRuleOf(mlir::Operation&);

/// Operands of a `move` whose elements are moved; the others must be defined.
mlir::OperandRange movedOperands(mlir::Operation&);
/// The ref that a load, store or view goes to.
mlir::Value refOperand(mlir::Operation&);
/// What a store writes, and its selection (may be null).
mlir::Value storedValue(mlir::Operation&);
mlir::Value storeMask(mlir::Operation&);
/// The argument or allocation whose memory a ref shows.
mlir::Value rootOf(mlir::Value ref);

/// The same type with i1 elements; refs are in VMEM, where everything can be done with them.
mlir::Type maskType(mlir::Type);

using MaskMap = llvm::DenseMap<mlir::Value, mlir::Value>;  ///< no entry: all defined

/// The mask of the op's result, by the rule of the op (not: load, store, ref, allocate, none); null: all defined.
mlir::Value emitMask(mlir::OpBuilder&, mlir::Operation&, MaskRule, const MaskMap&);
/// An i1: every element of the mask is true.
mlir::Value emitAll(mlir::OpBuilder&, mlir::Location, mlir::Value mask);
/// A constant of the mask's type.
mlir::Value emitConstant(mlir::OpBuilder&, mlir::Location, mlir::Type maskType, bool value);

}  // namespace smalti::cpu
