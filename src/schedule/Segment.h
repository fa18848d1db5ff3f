// A segment: vector ops that are computed together, partitioned into loop nests.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "schedule/NestPlan.h"
#include "schedule/ScheduledOp.h"
#include "schedule/Surroundings.h"

namespace smalti::schedule {

/// A loop nest over `rows`, with column loops inside, one per phase: users of a row's reduction run in a later phase.
struct Nest {
  Shape rows;
  std::vector<size_t> ops;                ///< indices in Segment::ops, in program order, without rematerializable ops
  llvm::DenseSet<mlir::Value> rowValued;  ///< results with one element per row, reductions first
  NestPlan plan{};
};

struct Segment {
  int number = 0;  ///< number in its body, from 1; 0: it computes a single value
  std::vector<ScheduledOp> ops;
  llvm::DenseMap<mlir::Value, size_t> opOf;  ///< result → index
  llvm::DenseSet<mlir::Value> materialised;  ///< results that get a buffer
  std::vector<Nest> nests;

  /// The op that computes the value; null: it is not in the segment.
  const ScheduledOp* find(mlir::Value) const;
};

/// Partitions the ops into nests, in program order, and plans each nest. `toMaterialise`: rematerializable ops that get
/// a buffer nevertheless.
Segment planSegment(std::vector<ScheduledOp> ops, const llvm::DenseSet<mlir::Operation*>& toMaterialise,
                    const Surroundings&);
/// Plans one nest that computes the result of `op`, which is one of `ops`, into a buffer.
Segment planSingleValue(std::vector<ScheduledOp> ops, mlir::Operation* op, const Surroundings&);

}  // namespace smalti::schedule
