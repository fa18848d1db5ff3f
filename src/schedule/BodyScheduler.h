// Which ops of a body wait to be computed, which have been, and what is computed next. A compiler walks the ops of a
// body in program order: those that loop nests compute it adds here, and before any other op it asks for the segment
// that must be computed first.
#pragma once

#include "ir/facts/Liveness.h"
#include "schedule/Segment.h"

namespace smalti::schedule {

/// What happens to the ops that wait.
enum class Flush : uint8_t {
  values,       ///< an op needs values in memory: loads and other rematerializable ops go on waiting
  beforeWrites  ///< memory is about to change, or the block ends: what is still needed gets memory of its own
};

class BodyScheduler {
 public:
  explicit BodyScheduler(mlir::Operation* root) : liveness_(root) {}
  const Liveness& liveness() const { return liveness_; }

  // ---- ops that wait
  void add(ScheduledOp op) { pending_.push_back(std::move(op)); }
  const std::vector<ScheduledOp>& pending() const { return pending_; }
  /// Null: it does not wait.
  const ScheduledOp* findPending(const mlir::Operation*) const;
  /// Nothing but rematerializable ops waits.
  bool isIdle() const;
  /// The ops that wait as one segment, planned.
  Segment take(Flush, const Surroundings&);
  /// What `take` gave has been computed; ops that are still needed wait again, unless they have memory now.
  void finish(const Segment&, Flush);

  // ---- ops that do not
  void markDone(mlir::Operation* op) { done_.insert(op); }
  /// The op is taken care of already, by one before it.
  void skip(mlir::Operation* op) { skipped_.insert(op); }
  void unskip(mlir::Operation* op) { skipped_.erase(op); }
  bool isSkipped(mlir::Operation* op) const { return skipped_.contains(op); }

  // ---- who needs what
  /// An op that is neither computed nor one of `here` needs the value, also through rematerializable ops.
  bool isNeededBeyond(mlir::Value, const llvm::DenseSet<mlir::Operation*>& here) const;
  /// Position of the last op that needs the value, also through rematerializable ops.
  int lastNeed(mlir::Value) const;

 private:
  llvm::DenseSet<mlir::Operation*> opsToMaterialise(Flush) const;
  std::vector<size_t> lastNeeds(const llvm::DenseMap<mlir::Operation*, size_t>& position) const;
  bool isNeededLater(mlir::Value) const;

  Liveness liveness_;
  int segments_ = 0;  ///< that have been taken
  std::vector<ScheduledOp> pending_;
  llvm::DenseSet<mlir::Operation*> done_, skipped_;
};

}  // namespace smalti::schedule
