// The family of an op, from its traits and its declared effects. An op that declares no effects may do
// anything: semaphores, copies, the matrix unit, random numbers.
#pragma once

#include "mlir/IR/Operation.h"

namespace smalti {

/// Computes values from values: no effect, reads no memory that changes, no region, and no view of a ref (whose bounds
/// are checked where it is made).
bool isPure(mlir::Operation&);
/// Each element of the one result is computed from the elements in its place; scalars too.
bool isElementwise(mlir::Operation&);
/// The elements of (some) operands stand elsewhere in the result, unchanged: reshapes, broadcasts, slices, rotations.
bool movesElements(mlir::Operation&);
/// Its result is a view of the memory of its first operand.
bool isView(mlir::Operation&);
/// The argument or allocation that a ref is a view of.
mlir::Value memoryOf(mlir::Value ref);
/// Reads memory and has no other effect.
bool isLoad(mlir::Operation&);
/// Writes a value to memory, at once.
bool isStore(mlir::Operation&);
/// Logs, traces, assertions, views and what isPure or isLoad change no memory; everything else may.
bool mayChangeMemory(mlir::Operation&);

/// True when the kernel may write through this ref or a view of it. Ops whose effects are not known count as writes.
bool mayBeWritten(mlir::Value ref);

}  // namespace smalti
