// Ops of a body that loop nests compute, as a schedule sees them.
#pragma once

#include <optional>

#include "schedule/Access.h"

namespace smalti::schedule {

inline bool isVector(mlir::Value v) { return llvm::isa<mlir::VectorType>(v.getType()); }

/// One op that waits to be computed. Loads and stores come with what they touch, whose bounds have been checked.
struct ScheduledOp {
  mlir::Operation* op = nullptr;
  std::optional<Access> access{};
  // Of stores:
  mlir::Value stored{}, mask{};
  bool adds = false;  ///< to what is there
  bool isStore() const { return stored != nullptr; }
  bool isLoad() const { return access && !stored; }
};

/// Ops that cost nothing to evaluate again wherever they are used: loads, broadcasts, iota, unit reshapes.
bool isRematerializable(const ScheduledOp&);
/// Shape ops among these, which only say which element of their operand they are.
bool isRematerializableShapeOp(mlir::Operation&);

/// A vector.multi_reduction. Whether code can be made of it is the target's to say, before it is scheduled.
bool isReduction(mlir::Operation&);
/// Reduces just the columns: its result is known when a row of the nest is done.
bool isRowReduction(mlir::Operation&);

/// A constant vector whose elements are equal.
bool isSplatConstant(mlir::Value);

}  // namespace smalti::schedule
