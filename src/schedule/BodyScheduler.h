// Defers the vector ops of a body, and groups them into segments. A compiler walks the ops of a body in program order:
// it adds the ops that loop nests can compute, and before any other op it takes the segment of deferred ops that must
// be computed first.
#pragma once

#include "ir/facts/Liveness.h"
#include "schedule/Segment.h"

namespace smalti::schedule {

/// The deferred ops that a segment must compute.
enum class Flush : uint8_t {
  values,       ///< an op needs values in memory: loads and other rematerializable ops stay deferred
  beforeWrites  ///< memory is about to change, or the block ends: values that are still needed are materialised
};

class BodyScheduler {
 public:
  explicit BodyScheduler(mlir::Operation* root) : liveness_(root) {}
  const Liveness& liveness() const { return liveness_; }

  // ---- deferred ops
  void add(ScheduledOp op) { pending_.push_back(std::move(op)); }
  const std::vector<ScheduledOp>& pending() const { return pending_; }
  /// Null: the op is not deferred.
  const ScheduledOp* findPending(const mlir::Operation*) const;
  /// Whether only rematerializable ops are deferred.
  bool isIdle() const;
  /// Plans the deferred ops as one segment and removes them from the list.
  Segment take(Flush, const Surroundings&);
  /// To be called after the segment has been computed. Ops that are still needed and have no memory are deferred again.
  void finish(const Segment&, Flush);

  // ---- other ops
  void markDone(mlir::Operation* op) { done_.insert(op); }
  /// An earlier op has computed this one already.
  void skip(mlir::Operation* op) { skipped_.insert(op); }
  bool isSkipped(mlir::Operation* op) const { return skipped_.contains(op); }

  // ---- uses of values
  /// Whether an op that is neither computed nor in `here` needs the value, possibly through rematerializable ops.
  bool isLiveOut(mlir::Value, const llvm::DenseSet<mlir::Operation*>& here) const;
  /// Position of the last op that needs the value, possibly through rematerializable ops.
  int lastNeed(mlir::Value) const;

 private:
  llvm::DenseSet<mlir::Operation*> opsToMaterialise(Flush) const;
  std::vector<size_t> lastNeeds(const llvm::DenseMap<mlir::Operation*, size_t>& position) const;
  bool isNeededLater(mlir::Value) const;
  /// Computed, or dead: it needs its operands no more.
  bool isDone(mlir::Operation* op) const { return done_.contains(op) || liveness_.dead(op); }

  Liveness liveness_;
  int segments_ = 0;  ///< number of segments taken so far
  std::vector<ScheduledOp> pending_;
  llvm::DenseSet<mlir::Operation*> done_, skipped_;
};

}  // namespace smalti::schedule
