// The values of a nest that get memory: rows that later phases need, and buffers that take over other buffers' memory.
#include <algorithm>

#include "ir/Types.h"
#include "llvm/ADT/MapVector.h"
#include "schedule/NestContext.h"

namespace smalti::schedule {
namespace {

/// Values in memory that a root reads, and whether each iteration reads just its own element of them; in the order
/// found, so that the plan is the same every time.
using MemoryReads = llvm::MapVector<mlir::Value, bool>;

class ReadsOfRoot {
 public:
  ReadsOfRoot(const NestContext& context, const NestPlan& plan, const Root& root)
      : c_(context), plan_(plan), root_(root) {}

  MemoryReads run() {
    walk(root_.value, root_.map);
    if (root_.mask) walk(root_.mask, root_.map);
    return std::move(reads_);
  }

 private:
  void walk(mlir::Value v, const ElementMap& map) {
    if (!isVector(v) || isSplatConstant(v)) return;
    auto& known = seen_[v];
    if (llvm::is_contained(known, map)) return;
    known.push_back(map);
    if (c_.body.stored(v)) {
      const bool own = map.flat ? map == root_.map : map == identityMap(shapeOf(v.getType()), plan_.column);
      auto [at, isNew] = reads_.try_emplace(v, own);
      at->second &= own;
      return;
    }
    const ScheduledOp* p = c_.segment.find(v);
    if (!p || p->isLoad() || isReduction(*p->op) || p->op->getNumOperands() == 0) return;
    if (isRematerializable(*p)) {
      if (auto inner = operandMap(*p->op, 0, map)) walk(p->op->getOperand(0), *inner);
      return;
    }
    for (mlir::Value operand : p->op->getOperands()) walk(operand, map);
  }

  const NestContext& c_;
  const NestPlan& plan_;
  const Root& root_;
  MemoryReads reads_;
  llvm::DenseMap<mlir::Value, std::vector<ElementMap>> seen_;
};

}  // namespace

int64_t columnsOf(const ElementMap& map, std::span<const int64_t> shape, int column) {
  for (size_t d = 0; d < map.entries.size(); ++d)
    if (map.entries[d].loop == column) return shape[d];
  return 1;
}

bool Dependence::operator()(mlir::Value v) {
  if (v == target_) return true;
  const ScheduledOp* p = context_.segment.find(v);
  if (!p) return false;
  if (auto known = known_.find(v); known != known_.end()) return known->second;
  bool depends = false;
  if (!p->isLoad() && !isReduction(*p->op) && context_.evaluated(v))
    for (mlir::Value operand : p->op->getOperands()) depends = depends || (*this)(operand);
  known_[v] = depends;
  return depends;
}

int64_t CostModel::operator()(mlir::Value v) {
  // Instructions of a function of `math`, on average of those in src/cpu/math; and where counting stops.
  constexpr int64_t kMathFunction = 16, kMax = 1000;
  const ScheduledOp* p = context_.segment.find(v);
  if (!p || !isVector(v)) return 0;
  if (p->isLoad() || isReduction(*p->op) || plan_.rowBuffers.contains(v) || !context_.evaluated(v)) return 1;
  if (auto known = known_.find(v); known != known_.end()) return known->second;
  int64_t cost = 0;
  if (!isRematerializable(*p)) cost = p->op->getName().getDialectNamespace() == "math" ? kMathFunction : 1;
  for (mlir::Value operand : p->op->getOperands()) cost += (*this)(operand);
  return known_[v] = std::min(cost, kMax);
}

/// Keeps in memory a row of each value that several phases or loops need and that is expensive to compute.
NestPlan bufferExpensive(NestPlan plan, const NestContext& c) {
  if (plan.flattened) return plan;
  CostModel cost(c, plan);
  for (const size_t i : c.nest.ops) {
    const ScheduledOp& p = c.op(i);
    if (p.isStore() || p.isLoad() || isReduction(*p.op)) continue;
    const mlir::Value v = p.op->getResult(0);
    if (c.nest.rowValued.contains(v)) continue;
    const ElementMap map = identityMap(shapeOf(v.getType()), plan.column);
    const int64_t columns = columnsOf(map, shapeOf(v.getType()), plan.column);
    if (columns == 1) continue;
    int first = -1, last = -1;
    Dependence needs(c, v);
    for (const Root& r : plan.roots) {
      if (!needs(r.value)) continue;
      if (first < 0 || r.phase < first) first = r.phase;
      last = std::max(last, r.phase);
    }
    if (first == last || cost(v) < kExpensiveInstructions) continue;
    const int phase = phaseOf(c, v);
    const auto made = std::ranges::find(plan.buffers, v, &Buffer::value);
    if (made != plan.buffers.end()) {  // it gets a buffer anyway
      plan.rowBuffers[v] = {static_cast<size_t>(made - plan.buffers.begin()), map, phase};
      for (Root& other : plan.roots)
        if (other.value == v && other.op == i && other.kind == Root::Kind::write) other.phase = phase;
      continue;
    }
    Root r;
    r.op = i;
    r.value = v;
    r.map = map;
    r.columns = columns;
    r.phase = phase;
    const int64_t rows = plan.rows.bufferedRows();
    r.buffer = plan.buffers.size();
    plan.buffers.push_back({elementDType(v.getType()), {rows, columns}});
    r.targetMap.entries = {rows == 1 ? MapEntry{} : MapEntry{MapEntry::kBufferedRow, 0}, MapEntry{plan.column, 0}};
    plan.rowBuffers[v] = {*r.buffer, r.targetMap, r.phase};
    plan.roots.push_back(std::move(r));
  }
  return plan;
}

/// A value that is made of another one, element by element, takes its buffer when nothing needs that any more.
NestPlan reuseBuffers(NestPlan plan, const NestContext& c) {
  std::vector<Root>& roots = plan.roots;
  std::vector<MemoryReads> reads;
  for (const Root& r : roots) reads.push_back(ReadsOfRoot(c, plan, r).run());
  llvm::DenseSet<mlir::Operation*> here;
  for (const size_t i : c.nest.ops) here.insert(c.op(i).op);
  // Every root that reads the value has done so when root `r` writes over the same element.
  const auto isReadBefore = [&](mlir::Value value, const Root& r) {
    for (size_t k = 0; k < roots.size(); ++k) {
      const auto read = reads[k].find(value);
      if (read == reads[k].end()) continue;
      const bool before = roots[k].phase < r.phase || (roots[k].phase == r.phase && roots[k].columns == r.columns);
      if (!read->second || !before) return false;
    }
    return true;
  };
  llvm::DenseSet<mlir::Value> taken;
  for (size_t i = 0; i < roots.size(); ++i) {
    Root r = roots[i];
    if (r.kind != Root::Kind::write || !r.buffer || plan.buffers[*r.buffer].value != r.value) continue;
    Buffer& buffer = plan.buffers[*r.buffer];
    for (const auto& [value, own] : reads[i]) {
      const StoredValue old = *c.body.stored(value);
      // The next iteration of a loop needs values from outside the loop, too.
      if (!own || mlir::Value(value).getParentBlock() != r.value.getParentBlock() || taken.contains(value) ||
          !old.isReusable || !old.isDense || num_elements(old.shape) != num_elements(buffer.shape) ||
          storage_bytes(old.dtype) != storage_bytes(buffer.dtype) || c.body.isLiveOut(value, here) ||
          !isReadBefore(value, r))
        continue;
      taken.insert(value);
      buffer.reuses = value;
      break;
    }
  }
  return plan;
}

}  // namespace smalti::schedule
