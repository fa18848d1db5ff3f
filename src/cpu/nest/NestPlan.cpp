#include "cpu/nest/NestPlan.h"

#include <algorithm>
#include <array>
#include <set>

#include "cpu/plan/NestHeuristics.h"
#include "cpu/product/StorageDType.h"
#include "ir/TpuOpsShape.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {
namespace {

int64_t weightOf(mlir::Operation& op) { return op.getName().getDialectNamespace() == "math" ? 16 : 1; }

class NestPlanner {
 public:
  NestPlanner(Lowering& lowering, const Segment& segment, const Nest& nest)
      : l_(lowering), s_(segment), nest_(nest), inNest_(nest.ops.begin(), nest.ops.end()) {
    column_ = static_cast<int>(nest.rows.size());
  }

  NestPlan run() {
    for (size_t i : nest_.ops) addRoot(i);
    if (roots_.empty()) return std::move(plan_);
    if (flattenable()) flatten();
    for (Root& r : roots_) r.phase = phaseOf(r);
    delayStores();
    schedule();
    materialiseExpensive();
    reusePlaces();
    for (Root& r : roots_) r.cost = costOf(r.value) + 1;
    return std::move(plan_);
  }

 private:
  // ---- roots

  ElementMap mapOf(mlir::Value v) const {
    const Shape shape = shapeOf(v.getType());
    return nest_.rowValued.contains(v) ? rowMap(shape) : identityMap(shape, column_);
  }
  /// The map of a value a store writes: per row if what it reshapes is.
  ElementMap storedMap(mlir::Value v) const {
    if (rowsOf(shapeOf(v.getType())) != nest_.rows) return rowMap(shapeOf(v.getType()));
    return identityMap(shapeOf(v.getType()), column_);
  }

  int64_t columnsOf(const ElementMap& map, std::span<const int64_t> shape) const {
    for (size_t d = 0; d < map.entries.size(); ++d)
      if (map.entries[d].loop == column_) return shape[d];
    return 1;
  }

  void addRoot(size_t i) {
    const PendingOp& p = s_.ops[i];
    Root r;
    r.op = i;
    if (p.isStore()) {
      r.value = p.stored;
      r.mask = p.mask;
      r.adds = p.adds;
      r.map = r.targetMap = storedMap(p.stored);
      r.target = *p.box;
      r.columns = columnsOf(r.map, p.box->shape);
      roots_.push_back(std::move(r));
      return;
    }
    const mlir::Value result = p.op->getResult(0);
    const Shape shape = shapeOf(result.getType());
    if (isNativeReduction(*p.op)) {
      r.value = p.op->getOperand(0);
      const Shape in = shapeOf(r.value.getType());
      r.map = identityMap(in, column_);
      r.columns = columnsOf(r.map, in);
      if (isRowReduction(*p.op)) {
        r.kind = Root::Kind::rowReduction;
        roots_.push_back(std::move(r));
        if (s_.materialised.contains(result)) materialise(i, result, rowMap(shape));
        return;
      }
      r.kind = Root::Kind::accumulation;
      r.target = l_.allocate(elementDType(result.getType()), shape);
      const auto dims = integersAttribute(*p.op, "reduction_dims");
      for (size_t d = 0; d < in.size(); ++d)
        if (!llvm::is_contained(dims, static_cast<int64_t>(d))) r.targetMap.entries.push_back(r.map.entries[d]);
      if (s_.materialised.contains(result)) made_.push_back({result, r.target});
      roots_.push_back(std::move(r));
      return;
    }
    if (s_.materialised.contains(result)) materialise(i, result, mapOf(result));
    return;
  }

  void materialise(size_t i, mlir::Value value, ElementMap map) {
    const Shape shape = shapeOf(value.getType());
    Root r;
    r.op = i;
    r.value = value;
    r.columns = columnsOf(map, shape);
    r.target = l_.allocate(storageDType(l_, value), shape);
    r.map = r.targetMap = std::move(map);
    made_.push_back({value, r.target});
    roots_.push_back(std::move(r));
  }

  // ---- one dense row instead of many short ones

  bool flattenable() {
    const Root& first = roots_.front();
    const int64_t n = num_elements(shapeOf(first.value.getType()));
    for (const Root& r : roots_) {
      if (r.kind != Root::Kind::write || !isDense(r.target) || r.target.elements() != n) return false;
      if (shapeOf(r.value.getType()) != r.target.shape && num_elements(shapeOf(r.value.getType())) != n) return false;
      if (!flatValue(r.value, n) || (r.mask && !flatValue(r.mask, n))) return false;
    }
    return true;
  }
  bool flatValue(mlir::Value v, int64_t n) {
    if (!isVector(v)) return true;
    auto [at, isNew] = flat_.try_emplace(v, true);
    if (!isNew) return at->second;
    const bool ok = computeFlat(v, n);
    flat_[v] = ok;
    return ok;
  }
  bool computeFlat(mlir::Value v, int64_t n) {
    const int64_t elements = num_elements(shapeOf(v.getType()));
    if (isSplatConstant(v)) return true;
    if (const View* view = l_.findView(v)) return elements == 1 || (elements == n && isDense(*view));
    auto at = s_.opOf.find(v);
    if (at == s_.opOf.end()) return false;
    const PendingOp& p = s_.ops[at->second];
    if (p.isLoad()) return elements == 1 || (elements == n && isDense(*p.box));
    if (isNativeReduction(*p.op) || llvm::isa<tpu::IotaOp, mlir::vector::ExtractStridedSliceOp>(p.op)) return false;
    if (llvm::isa<mlir::vector::BroadcastOp>(p.op)) {
      const mlir::Value source = p.op->getOperand(0);
      return !isVector(source) || (num_elements(shapeOf(source.getType())) == 1
                                       ? flatValue(source, n)
                                       : elements == num_elements(shapeOf(source.getType())) && flatValue(source, n));
    }
    for (mlir::Value operand : p.op->getOperands())
      if (!flatValue(operand, n)) return false;
    return elements == n || elements == 1;
  }
  void flatten() {
    flattened_ = true;
    column_ = 0;
    for (Root& r : roots_) {
      r.columns = r.target.elements();
      r.map = r.targetMap = ElementMap{{MapEntry{0, 0}}, true};
      r.target.shape = {r.columns};
      r.target.strides = {l_.index(1)};
      if (r.columns == 1) r.map.entries[0] = r.targetMap.entries[0] = {};
    }
  }

  // ---- phases

  int phaseOf(const Root& r) {
    int phase = phaseOf(r.value);
    if (r.mask) phase = std::max(phase, phaseOf(r.mask));
    return phase;
  }
  int phaseOf(mlir::Value v) {
    auto at = s_.opOf.find(v);
    if (at == s_.opOf.end() || !isVector(v)) return 0;
    if (auto known = phases_.find(v); known != phases_.end()) return known->second;
    const PendingOp& p = s_.ops[at->second];
    int phase = 0;
    if (!p.isLoad() && (isRematerializable(p) || inNest_.contains(at->second))) {
      for (mlir::Value operand : p.op->getOperands()) phase = std::max(phase, phaseOf(operand));
      if (isNativeReduction(*p.op)) ++phase;
    }
    phases_[v] = phase;
    return phase;
  }

  bool dependsOn(mlir::Value v, mlir::Value target, llvm::DenseMap<mlir::Value, bool>& known) {
    if (v == target) return true;
    auto at = s_.opOf.find(v);
    if (at == s_.opOf.end()) return false;
    if (auto k = known.find(v); k != known.end()) return k->second;
    const PendingOp& p = s_.ops[at->second];
    bool depends = false;
    // A row's reduction keeps its value: what is made of it needs no load any more.
    if (!p.isLoad() && !isNativeReduction(*p.op) && (isRematerializable(p) || inNest_.contains(at->second)))
      for (mlir::Value operand : p.op->getOperands()) depends = depends || dependsOn(operand, target, known);
    known[v] = depends;
    return depends;
  }

  /// A store over memory that the nest also loads comes after everything that needs the load.
  void delayStores() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Root& store : roots_) {
        if (store.kind != Root::Kind::write || !s_.ops[store.op].isStore()) continue;
        for (size_t i = 0; i < s_.ops.size(); ++i) {
          const PendingOp& load = s_.ops[i];
          if (!load.isLoad() || !mayOverlap(*load.box, *s_.ops[store.op].box)) continue;
          llvm::DenseMap<mlir::Value, bool> known;
          for (const Root& r : roots_) {
            if (&r == &store || !dependsOn(r.value, load.op->getResult(0), known)) continue;
            const bool before = r.phase < store.phase || (r.phase == store.phase && r.columns == store.columns) ||
                                (r.phase == store.phase && r.columns == 1);
            if (before) continue;
            store.phase = r.phase + 1;
            changed = true;
          }
        }
      }
    }
  }

  NestFacts facts() const {
    NestFacts facts{.isFlattened = flattened_,
                    .phases = plan_.phases(),
                    .innermostRows = nest_.rows.empty() ? 0 : nest_.rows.back()};
    for (const PendingOp& p : s_.ops) {
      if (!p.box) continue;
      facts.touchesMemory |= p.box->hints.memoryResident || p.box->hints.nonTemporal;
      facts.readsOfMemory += p.isLoad() && p.box->hints.memoryResident;
    }
    for (const Root& r : roots_)
      facts.roots.push_back({.phase = r.phase,
                             .columns = r.columns,
                             .isWrite = r.kind == Root::Kind::write,
                             .adds = r.adds,
                             .isNonTemporal = r.target.hints.nonTemporal});
    return facts;
  }

  void schedule() {
    const NestFacts nest = facts();
    plan_.rowBlock = chooseRowBlock(nest, l_.processor);
    const auto worth = worthPipelining(nest, plan_.rowBlock, [&](size_t i) { return costOf(roots_[i].value); });
    if (worth) costs_.clear();  // what will be kept costs less
    plan_.pipelinesLastPhase = worth.value_or(false);
    const NestPrefetch prefetch = planPrefetch(nest, plan_.rowBlock, plan_.pipelinesLastPhase, l_.processor);
    plan_.prefetchRows = prefetch.rows;
    plan_.prefetchLevel = prefetch.level;
  }

  /// A value that several phases or loops need and that is expensive to compute is kept: a row of it in memory.
  void materialiseExpensive() {
    if (flattened_) return;
    for (size_t i : nest_.ops) {
      const PendingOp& p = s_.ops[i];
      if (p.isStore() || p.isLoad() || isNativeReduction(*p.op)) continue;
      const mlir::Value v = p.op->getResult(0);
      if (nest_.rowValued.contains(v)) continue;
      const ElementMap map = identityMap(shapeOf(v.getType()), column_);
      const int64_t columns = columnsOf(map, shapeOf(v.getType()));
      if (columns == 1) continue;
      int first = -1, last = -1;
      for (const Root& r : roots_) {
        llvm::DenseMap<mlir::Value, bool> known;
        if (!dependsOn(r.value, v, known)) continue;
        if (first < 0 || r.phase < first) first = r.phase;
        last = std::max(last, r.phase);
      }
      if (first == last || costOf(v) < kExpensiveInstructions) continue;
      Root r;
      r.op = i;
      r.value = v;
      r.map = map;
      r.columns = columns;
      r.phase = phaseOf(v);
      const auto made = std::ranges::find(made_, v, &std::pair<mlir::Value, View>::first);
      if (made != made_.end()) {  // it gets a place anyway
        rowBuffers_[v] = {made->second, map, r.phase};
        for (Root& other : roots_)
          if (other.value == v && other.op == i && other.kind == Root::Kind::write) other.phase = r.phase;
        continue;
      }
      const int64_t rows = plan_.bufferedRows();
      r.target = l_.allocate(elementDType(v.getType()), std::array{rows, columns});
      r.targetMap.entries = {rows == 1 ? MapEntry{} : MapEntry{MapEntry::kBufferedRow, 0}, MapEntry{column_, 0}};
      rowBuffers_[v] = {r.target, r.targetMap, r.phase};
      roots_.push_back(std::move(r));
    }
  }
  int64_t costOf(mlir::Value v) {
    auto at = s_.opOf.find(v);
    if (at == s_.opOf.end() || !isVector(v)) return 0;
    const PendingOp& p = s_.ops[at->second];
    if (p.isLoad() || isNativeReduction(*p.op) || rowBuffers_.contains(v)) return 1;
    if (!isRematerializable(p) && !inNest_.contains(at->second)) return 1;
    if (auto known = costs_.find(v); known != costs_.end()) return known->second;
    costs_[v] = 1;
    int64_t cost = isRematerializable(p) ? 0 : weightOf(*p.op);
    for (mlir::Value operand : p.op->getOperands()) cost += costOf(operand);
    cost = std::min<int64_t>(cost, 1000);
    costs_[v] = cost;
    return cost;
  }

  // ---- places

  using Reads = llvm::MapVector<mlir::Value, bool>;  // in the order found: the same code every time

  /// Values in memory that a root reads, and whether each iteration reads just its own element of them.
  void readsOf(mlir::Value v, const ElementMap& map, const Root& root, Reads& reads,
               llvm::DenseMap<mlir::Value, std::vector<ElementMap>>& seen) {
    if (!isVector(v) || isSplatConstant(v)) return;
    auto& known = seen[v];
    if (llvm::is_contained(known, map)) return;
    known.push_back(map);
    if (l_.findView(v)) {
      const bool own = map.flat ? map == root.map : map == identityMap(shapeOf(v.getType()), column_);
      auto [at, isNew] = reads.try_emplace(v, own);
      at->second &= own;
      return;
    }
    auto at = s_.opOf.find(v);
    if (at == s_.opOf.end()) return;
    const PendingOp& p = s_.ops[at->second];
    if (p.isLoad() || isNativeReduction(*p.op) || p.op->getNumOperands() == 0) return;
    if (isRematerializable(p)) {
      if (auto inner = operandMap(*p.op, 0, map)) readsOf(p.op->getOperand(0), *inner, root, reads, seen);
      return;
    }
    for (mlir::Value operand : p.op->getOperands()) readsOf(operand, map, root, reads, seen);
  }

  /// A value that is made of another one, element by element, takes its place when nothing needs that any more.
  void reusePlaces() {
    std::vector<Reads> reads(roots_.size());
    for (size_t i = 0; i < roots_.size(); ++i) {
      llvm::DenseMap<mlir::Value, std::vector<ElementMap>> seen;
      readsOf(roots_[i].value, roots_[i].map, roots_[i], reads[i], seen);
      if (roots_[i].mask) readsOf(roots_[i].mask, roots_[i].map, roots_[i], reads[i], seen);
    }
    llvm::DenseSet<mlir::Operation*> here;
    for (size_t i : nest_.ops) here.insert(s_.ops[i].op);
    llvm::DenseSet<mlir::Value> taken;
    for (size_t i = 0; i < roots_.size(); ++i) {
      Root& r = roots_[i];
      const auto made = std::ranges::find(made_, r.value, &std::pair<mlir::Value, View>::first);
      if (r.kind != Root::Kind::write || made == made_.end() || made->second.base != r.target.base) continue;
      for (const auto& [value, own] : reads[i]) {
        const View& place = *l_.findView(value);
        // What comes from outside of a loop, its next iteration needs too.
        if (!own || mlir::Value(value).getParentBlock() != r.value.getParentBlock() || taken.contains(value) ||
            place.memory != View::kValue || place.owner.use_count() != 1 || !isDense(place) ||
            place.elements() != made->second.elements() ||
            storage_bytes(place.dtype) != storage_bytes(made->second.dtype) || l_.isNeededBeyond(value, here))
          continue;
        bool free = true;
        for (size_t k = 0; k < roots_.size(); ++k) {
          auto read = reads[k].find(value);
          if (read == reads[k].end()) continue;
          const bool before =
              roots_[k].phase < r.phase || (roots_[k].phase == r.phase && roots_[k].columns == r.columns);
          free &= read->second && before;
        }
        if (!free) continue;
        taken.insert(value);
        made->second.base = r.target.base = place.base;
        made->second.owner = r.target.owner = place.owner;
        if (auto kept = rowBuffers_.find(r.value); kept != rowBuffers_.end()) kept->second.view = made->second;
        break;
      }
    }
  }

  Lowering& l_;
  const Segment& s_;
  const Nest& nest_;
  std::set<size_t> inNest_;
  NestPlan plan_;
  std::vector<Root>& roots_ = plan_.roots;
  std::vector<std::pair<mlir::Value, View>>& made_ = plan_.made;
  llvm::DenseMap<mlir::Value, RowBuffer>& rowBuffers_ = plan_.rowBuffers;
  int& column_ = plan_.column;
  bool& flattened_ = plan_.flattened;
  llvm::DenseMap<mlir::Value, bool> flat_;
  llvm::DenseMap<mlir::Value, int> phases_;
  llvm::DenseMap<mlir::Value, int64_t> costs_;
};

}  // namespace

int NestPlan::phases() const {
  int phases = 1;
  for (const Root& r : roots) phases = std::max(phases, r.phase + 1);
  return phases;
}

NestSummary summarise(const NestPlan& plan, const Segment& segment, const Nest& nest) {
  NestSummary s{.rows = plan.flattened ? Shape{} : nest.rows,
                .phases = plan.phases(),
                .rowBlock = plan.rowBlock,
                .pipelinesLastPhase = plan.pipelinesLastPhase,
                .bufferedValues = static_cast<int64_t>(plan.rowBuffers.size()),
                .placedValues = static_cast<int64_t>(plan.made.size())};
  for (const size_t i : nest.ops) s.ops.push_back(segment.ops[i].op->getName().getStringRef().str());
  for (const Root& r : plan.roots) {
    s.columns = std::max(s.columns, r.columns);
    ++(r.kind == Root::Kind::write ? s.stores : s.reductions);
  }
  if (llvm::any_of(segment.ops, [](const PendingOp& p) { return p.box && p.box->hints.memoryResident; })) {
    s.prefetchRows = plan.prefetchRows;
    s.prefetchLevel = plan.prefetchLevel == CacheLevel::first ? 1 : 2;
  }
  return s;
}

NestPlan planNest(Lowering& lowering, const Segment& segment, const Nest& nest) {
  return NestPlanner(lowering, segment, nest).run();
}

}  // namespace smalti::cpu
