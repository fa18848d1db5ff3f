// Propagation of undefinedness through ops: each value that may have undefined elements gets a mask, one i1 per
// element, computed by ops of the same kernel. The rules are those of the machine (src/machine/flat/ops).
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Builders.h"

namespace smalti::cpu {

enum class MaskRule : uint8_t {
  elementwise,  ///< an element is defined if the operands' elements are
  select,       ///< the defined condition selects a mask
  move,         ///< masks move with their elements
  reduce,       ///< defined if all reduced elements are
  matmul,       ///< as reduce, of rows and columns
  load,
  store,
  ref,       ///< a view of another ref
  allocate,  ///< undefined memory
  none,      ///< operands must be defined; then so are results
};
MaskRule maskRuleOf(mlir::Operation&);

/// Operands of a `move` whose elements are moved; the others must be defined.
mlir::OperandRange movedOperands(mlir::Operation&);
/// The ref that a load, store or view accesses.
mlir::Value refOperand(mlir::Operation&);
/// The value and the mask (may be null) of a store.
mlir::Value storedValue(mlir::Operation&);
mlir::Value storeMask(mlir::Operation&);

/// The type with i1 elements. Refs are in VMEM, where all ops are possible.
mlir::Type maskType(mlir::Type);

/// The conjunction of two masks of one type; null: all defined.
mlir::Value logicalAnd(mlir::OpBuilder&, mlir::Location, mlir::Value x, mlir::Value y);

using MaskMap = llvm::DenseMap<mlir::Value, mlir::Value>;  ///< no entry: all defined

/// The mask of the op's result, by the rule of the op (not: load, store, ref, allocate, none); null: all defined.
mlir::Value emitMask(mlir::OpBuilder&, mlir::Operation&, MaskRule, const MaskMap&);
/// An i1: whether every element of the mask is true.
mlir::Value emitAllTrue(mlir::OpBuilder&, mlir::Location, mlir::Value mask);
/// A constant of the mask's type.
mlir::Value emitConstant(mlir::OpBuilder&, mlir::Location, mlir::Type maskType, bool value);

}  // namespace smalti::cpu
