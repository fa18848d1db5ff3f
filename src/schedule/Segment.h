// Vector ops that are computed together, and how they are put together to loop nests.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "schedule/NestPlan.h"
#include "schedule/ScheduledOp.h"
#include "schedule/Surroundings.h"

namespace smalti::schedule {

/// A loop nest over `rows` whose body runs over columns in phases: what needs a row's reduction comes in a later phase.
struct Nest {
  Shape rows;
  std::vector<size_t> ops;                ///< of the segment, in program order; rematerializable ones are not listed
  llvm::DenseSet<mlir::Value> rowValued;  ///< results with one element per row, reductions first
  NestPlan plan{};
};

struct Segment {
  int number = 0;  ///< of its body, from 1; 0: it computes a single value
  std::vector<ScheduledOp> ops;
  llvm::DenseMap<mlir::Value, size_t> opOf;  ///< result → index
  llvm::DenseSet<mlir::Value> materialised;  ///< results that need memory of their own
  std::vector<Nest> nests;

  /// The op that makes the value; null: none of the segment.
  const ScheduledOp* find(mlir::Value) const;
};

/// Partitions the ops into nests, in program order, and plans each. `toMaterialise`: rematerializable ops whose result
/// gets a buffer nevertheless.
Segment planSegment(std::vector<ScheduledOp> ops, const llvm::DenseSet<mlir::Operation*>& toMaterialise,
                    const Surroundings&);
/// One nest that does nothing but compute the result of `op`, one of `ops`, into a buffer.
Segment planSingleValue(std::vector<ScheduledOp> ops, mlir::Operation* op, const Surroundings&);

}  // namespace smalti::schedule
