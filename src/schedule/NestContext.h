// What the steps that plan a nest share: the nest, its segment, what they know of values, and what elements cost.
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
  /// The op that this nest evaluates for the value: one of its own, or a rematerializable one. Null: another made it.
  const ScheduledOp* evaluated(mlir::Value v) const {
    const auto at = segment.opOf.find(v);
    if (at == segment.opOf.end()) return nullptr;
    const ScheduledOp& p = segment.ops[at->second];
    return isRematerializable(p) || inNest.contains(at->second) ? &p : nullptr;
  }
};

/// Elements along the loop over columns of a value that is walked by `map`.
int64_t columnsOf(const ElementMap& map, std::span<const int64_t> shape, int column);

/// Number of reductions of a row that the value needs, one after the other.
int phaseOf(const NestContext&, mlir::Value);

/// Whether computing a value evaluates `target`. What a row's reduction has made is kept: it is evaluated once.
class Dependence {
 public:
  Dependence(const NestContext& context, mlir::Value target) : context_(context), target_(target) {}
  bool operator()(mlir::Value);

 private:
  const NestContext& context_;
  mlir::Value target_;
  llvm::DenseMap<mlir::Value, bool> known_;
};

/// Instructions, roughly, that an element of a value takes where its nest needs it.
class CostModel {
 public:
  CostModel(const NestContext& context, const NestPlan& plan) : context_(context), plan_(plan) {}
  int64_t operator()(mlir::Value);

 private:
  const NestContext& context_;
  const NestPlan& plan_;
  llvm::DenseMap<mlir::Value, int64_t> known_;
};

/// A step of planning.
using NestStep = NestPlan (*)(NestPlan, const NestContext&);
NestPlan flattenRows(NestPlan, const NestContext&);      ///< one dense row instead of many short ones
NestPlan choosePhases(NestPlan, const NestContext&);     ///< what needs a row's reduction comes after it
NestPlan delayStores(NestPlan, const NestContext&);      ///< behind everything that loads what they overwrite
NestPlan scheduleRows(NestPlan, const NestContext&);     ///< the target's: blocks of rows, pipelining, prefetch
NestPlan bufferExpensive(NestPlan, const NestContext&);  ///< rows of values that several phases need
NestPlan reuseBuffers(NestPlan, const NestContext&);     ///< of values that are read for the last time
NestPlan estimateCosts(NestPlan, const NestContext&);

}  // namespace smalti::schedule
