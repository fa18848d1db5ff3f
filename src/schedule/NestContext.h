// State and functions that the planning steps of a nest share: the nest, its segment, dependences and costs.
#pragma once

#include "schedule/Segment.h"

namespace smalti::schedule {

struct NestContext {
  const Segment& segment;
  const Nest& nest;
  const Surroundings& body;
  llvm::DenseSet<size_t> inNest;  ///< nest.ops

  NestContext(const Segment& s, const Nest& n, const Surroundings& b)
      : segment(s), nest(n), body(b), inNest(n.ops.begin(), n.ops.end()) {}

  const ScheduledOp& op(size_t i) const { return segment.ops[i]; }
  /// The op that this nest evaluates for the value: its own, or a rematerializable one. Null: the value is in memory.
  const ScheduledOp* evaluated(mlir::Value v) const {
    const auto at = segment.opOf.find(v);
    if (at == segment.opOf.end()) return nullptr;
    const ScheduledOp& p = segment.ops[at->second];
    if (inNest.contains(at->second)) return &p;
    return isRematerializable(p) && !segment.materialised.contains(v) ? &p : nullptr;
  }
};

/// The number of elements along the column loop of a value that is accessed by `map`.
int64_t columnsOf(const ElementMap& map, std::span<const int64_t> shape, int column);

/// The length of the longest chain of row reductions that the value depends on.
int phaseOf(const NestContext&, mlir::Value);

/// Whether computing a value evaluates `target`. Results of row reductions are kept, and evaluated once.
class Dependence {
 public:
  Dependence(const NestContext& context, mlir::Value target) : context_(context), target_(target) {}
  bool operator()(mlir::Value);

 private:
  const NestContext& context_;
  mlir::Value target_;
  llvm::DenseMap<mlir::Value, bool> known_;
};

/// The approximate number of instructions that the nest executes to compute an element of a value.
class CostModel {
 public:
  CostModel(const NestContext& context, const NestPlan& plan) : context_(context), plan_(plan) {}
  int64_t operator()(mlir::Value);

 private:
  const NestContext& context_;
  const NestPlan& plan_;
  llvm::DenseMap<mlir::Value, int64_t> known_;
};

/// One step of planning.
using NestStep = NestPlan (*)(NestPlan, const NestContext&);
NestPlan flattenRows(NestPlan, const NestContext&);      ///< treats dense rows as a single one
NestPlan choosePhases(NestPlan, const NestContext&);     ///< puts users of a row's reduction into a later phase
NestPlan delayStores(NestPlan, const NestContext&);      ///< moves stores behind loads of what they overwrite
NestPlan scheduleRows(NestPlan, const NestContext&);     ///< blocking, pipelining and prefetching; the target's
NestPlan bufferExpensive(NestPlan, const NestContext&);  ///< buffers rows of values that several phases need
NestPlan reuseBuffers(NestPlan, const NestContext&);     ///< takes over buffers of values at their last use
NestPlan estimateCosts(NestPlan, const NestContext&);

}  // namespace smalti::schedule
