// The order of a nest's computations: the phases of a row, and whether there are rows at all.
#include <algorithm>

#include "ir/TpuOpsShape.h"
#include "ir/Types.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "schedule/NestContext.h"

namespace smalti::schedule {
namespace {

/// Whether values can be walked as one dense row of `elements`.
class Flatness {
 public:
  Flatness(const NestContext& context, int64_t elements) : c_(context), n_(elements) {}

  bool isFlat(const Root& r) {
    if (r.kind != Root::Kind::write) return false;
    if (!r.buffer && (!c_.op(r.op).access->isDense || num_elements(c_.op(r.op).access->shape) != n_)) return false;
    if (num_elements(shapeOf(r.value.getType())) != n_) return false;
    return isFlat(r.value) && (!r.mask || isFlat(r.mask));
  }

 private:
  bool isFlat(mlir::Value v) {
    if (!isVector(v)) return true;
    auto [at, isNew] = known_.try_emplace(v, true);
    if (!isNew) return at->second;
    const bool flat = compute(v);
    known_[v] = flat;
    return flat;
  }

  bool compute(mlir::Value v) {
    const int64_t elements = num_elements(shapeOf(v.getType()));
    if (isSplatConstant(v)) return true;
    if (const auto stored = c_.body.stored(v)) return elements == 1 || (elements == n_ && stored->isDense);
    const ScheduledOp* p = c_.segment.find(v);
    if (!p) return false;
    if (p->isLoad()) return elements == 1 || (elements == n_ && p->access->isDense);
    if (isReduction(*p->op) || llvm::isa<tpu::IotaOp, mlir::vector::ExtractStridedSliceOp>(p->op)) return false;
    if (llvm::isa<mlir::vector::BroadcastOp>(p->op)) {
      const mlir::Value source = p->op->getOperand(0);
      if (!isVector(source)) return true;
      const int64_t from = num_elements(shapeOf(source.getType()));
      return (from == 1 || from == elements) && isFlat(source);
    }
    for (mlir::Value operand : p->op->getOperands())
      if (!isFlat(operand)) return false;
    return elements == n_ || elements == 1;
  }

  const NestContext& c_;
  int64_t n_;
  llvm::DenseMap<mlir::Value, bool> known_;
};

class Phases {
 public:
  explicit Phases(const NestContext& context) : c_(context) {}

  int of(mlir::Value v) {
    const ScheduledOp* p = c_.segment.find(v);
    if (!p || !isVector(v)) return 0;
    if (auto known = known_.find(v); known != known_.end()) return known->second;
    int phase = 0;
    if (!p->isLoad() && c_.evaluated(v)) {
      for (mlir::Value operand : p->op->getOperands()) phase = std::max(phase, of(operand));
      if (isReduction(*p->op)) ++phase;
    }
    known_[v] = phase;
    return phase;
  }

 private:
  const NestContext& c_;
  llvm::DenseMap<mlir::Value, int> known_;
};

}  // namespace

int phaseOf(const NestContext& c, mlir::Value v) { return Phases(c).of(v); }

NestPlan flattenRows(NestPlan plan, const NestContext& c) {
  const int64_t n = num_elements(shapeOf(plan.roots.front().value.getType()));
  Flatness flatness(c, n);
  if (!llvm::all_of(plan.roots, [&](const Root& r) { return flatness.isFlat(r); })) return plan;
  plan.flattened = true;
  plan.column = 0;
  for (Root& r : plan.roots) {
    r.columns = n;
    r.map = r.targetMap = ElementMap{{n == 1 ? MapEntry{} : MapEntry{0, 0}}, true};
  }
  return plan;
}

NestPlan choosePhases(NestPlan plan, const NestContext& c) {
  Phases phases(c);
  for (Root& r : plan.roots) {
    r.phase = phases.of(r.value);
    if (r.mask) r.phase = std::max(r.phase, phases.of(r.mask));
  }
  return plan;
}

NestPlan delayStores(NestPlan plan, const NestContext& c) {
  for (bool changed = true; changed;) {
    changed = false;
    for (Root& store : plan.roots) {
      if (store.kind != Root::Kind::write || !c.op(store.op).isStore()) continue;
      for (const ScheduledOp& load : c.segment.ops) {
        if (!load.isLoad() || !mayOverlap(*load.access, *c.op(store.op).access)) continue;
        Dependence needsLoad(c, load.op->getResult(0));
        for (const Root& r : plan.roots) {
          if (&r == &store || !needsLoad(r.value)) continue;
          const bool before = r.phase < store.phase || (r.phase == store.phase && r.columns == store.columns) ||
                              (r.phase == store.phase && r.columns == 1);
          if (before) continue;
          store.phase = r.phase + 1;
          changed = true;
        }
      }
    }
  }
  return plan;
}

}  // namespace smalti::schedule
