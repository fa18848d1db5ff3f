// Ops of a body that loop nests compute, with the information that scheduling needs.
#pragma once

#include <optional>

#include "schedule/Access.h"

namespace smalti::schedule {

inline bool isVector(mlir::Value v) { return llvm::isa<mlir::VectorType>(v.getType()); }

/// A deferred op. Loads and stores have the memory that they access; its bounds have been checked.
struct ScheduledOp {
  mlir::Operation* op = nullptr;
  std::optional<Access> access{};
  // Only of stores:
  mlir::Value stored{}, mask{};
  bool adds = false;  ///< adds to the memory's contents
  bool isStore() const { return stored != nullptr; }
  bool isLoad() const { return access && !stored; }
};

/// Whether evaluating the op again at each use costs nothing, as for loads, broadcasts, iota and unit reshapes.
bool isRematerializable(const ScheduledOp&);
/// Whether the op is a rematerializable shape op, each of whose elements is an element of its operand.
bool isRematerializableShapeOp(mlir::Operation&);

/// A vector.multi_reduction. The target decides whether it has code for it before the op is scheduled.
bool isReduction(mlir::Operation&);
/// Whether the op reduces only the columns, so that its result is complete at the end of a row of the nest.
bool isRowReduction(mlir::Operation&);

/// A constant vector with equal elements.
bool isSplatConstant(mlir::Value);

}  // namespace smalti::schedule
