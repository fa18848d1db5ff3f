// Facts that a lowering needs about a function before it starts: dead ops, last uses of values,
// and which stretches of a block change no memory.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Operation.h"

#include "ir/facts/OpFamilies.h"

namespace smalti {

/// Ops whose result may be the very memory of an operand (shape_cast, broadcast, …).
bool mayAlias(mlir::Operation&);

class Liveness {
 public:
  explicit Liveness(mlir::Operation* function);

  /// Position in a pre-order walk; an op's regions are between `begin` and `end`.
  int begin(mlir::Operation* op) const { return range_.lookup(op).first; }
  int end(mlir::Operation* op) const { return range_.lookup(op).second; }
  /// Position of the last use, -1 when unused; a use inside a loop of a value from outside lasts to the loop's end.
  int lastUse(mlir::Value) const;
  /// Neither its results nor its effects matter. Loads whose value is unused are dead too (their bounds are not).
  bool dead(mlir::Operation* op) const { return dead_.contains(op); }
  /// The loaded value (and what may alias it) is used only in its block, before anything can change memory.
  bool viewable(mlir::Operation* load) const;

 private:
  bool usedUpTo(mlir::Value, mlir::Operation* load, int memoryEpoch, int depth = 0) const;

  llvm::DenseMap<mlir::Operation*, std::pair<int, int>> range_;
  llvm::DenseMap<mlir::Operation*, int> epoch_;  ///< ops of its block before it that may change memory
  llvm::DenseSet<mlir::Operation*> dead_;
};

}  // namespace smalti
