#include "schedule/Segment.h"

#include <algorithm>

#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "schedule/ElementMap.h"
#include "schedule/UnitDims.h"

namespace smalti::schedule {
namespace {

/// The loads that an element of an op depends on, with their maps.
struct Reads {
  std::vector<std::pair<size_t, ElementMap>> loads;
  bool ok = true;  ///< false: it needs a value of the nest that is not complete at that point
};

class Partition {
 public:
  Partition(std::vector<ScheduledOp> ops, const llvm::DenseSet<mlir::Operation*>& toMaterialise)
      : toMaterialise_(toMaterialise) {
    s_.ops = std::move(ops);
    for (size_t i = 0; i < s_.ops.size(); ++i)
      for (mlir::Value v : s_.ops[i].op->getResults()) s_.opOf[v] = i;
  }

  Segment run() {
    nestOf_.assign(s_.ops.size(), -1);
    for (size_t i = 0; i < s_.ops.size(); ++i)
      if (!free(i)) place(i);
    for (size_t i = 0; i < s_.ops.size(); ++i)
      if (!free(i) && !s_.ops[i].isStore() && usedElsewhere(s_.ops[i].op->getResult(0), nestOf_[i]))
        s_.materialised.insert(s_.ops[i].op->getResult(0));
    return std::move(s_);
  }

 private:
  bool free(size_t i) const { return isRematerializable(s_.ops[i]) && !toMaterialise_.contains(s_.ops[i].op); }

  /// Whether an op outside `nest` needs the value.
  bool usedElsewhere(mlir::Value value, int nest) const {
    for (mlir::Operation* user : value.getUsers()) {
      const size_t i = indexOf(user);
      if (i == kNowhere) return true;
      if (free(i) ? usedElsewhere(user->getResult(0), nest) : nestOf_[i] != nest) return true;
    }
    return false;
  }

  static constexpr size_t kNowhere = ~size_t{0};
  size_t indexOf(mlir::Operation* op) const {
    if (op->getNumResults() == 1) {
      auto at = s_.opOf.find(op->getResult(0));
      return at == s_.opOf.end() ? kNowhere : at->second;
    }
    for (size_t i = 0; i < s_.ops.size(); ++i)
      if (s_.ops[i].op == op) return i;
    return kNowhere;
  }

  void place(size_t i) {
    if (s_.nests.empty() || !joins(i)) {
      s_.nests.push_back({rowsOf(domain(i)), {}, {}, {}});
      nestLoads_.clear();
      storeLoads_.clear();
      remember(i, loadsOf(i));
    }
    Nest& nest = s_.nests.back();
    nest.ops.push_back(i);
    nestOf_[i] = static_cast<int>(s_.nests.size()) - 1;
    if (const ScheduledOp& p = s_.ops[i]; !p.isStore() && isReduction(*p.op) && isRowReduction(*p.op))
      nest.rowValued.insert(p.op->getResult(0));
  }

  Shape domain(size_t i) const {
    const ScheduledOp& p = s_.ops[i];
    if (p.isStore()) return shapeOf(p.stored.getType());
    if (isReduction(*p.op)) return shapeOf(p.op->getOperand(0).getType());
    return shapeOf(p.op->getResult(0).getType());
  }

  std::vector<mlir::Value> inputs(size_t i) const {
    const ScheduledOp& p = s_.ops[i];
    if (p.isLoad()) return {};
    if (p.isStore()) return p.mask ? std::vector{p.stored, p.mask} : std::vector{p.stored};
    if (isReduction(*p.op)) return {p.op->getOperand(0), p.op->getOperand(1)};
    std::vector<mlir::Value> all;
    for (mlir::Value v : p.op->getOperands())
      if (isVector(v)) all.push_back(v);
    return all;
  }

  /// Whether the op has one element per row of the last nest: computed from such values, in the shape of the rows.
  bool rowValued(size_t i) {
    const Nest& nest = s_.nests.back();
    const ScheduledOp& p = s_.ops[i];
    if (!p.isStore() && isReduction(*p.op)) return false;
    if (withoutUnits(domain(i)) != nest.rows) return false;
    return std::ranges::any_of(inputs(i), [&](mlir::Value v) { return nest.rowValued.contains(strip(v)); });
  }
  /// Through reshapes by unit dimensions.
  mlir::Value strip(mlir::Value v) const {
    while (mlir::Operation* op = v.getDefiningOp()) {
      if (!llvm::isa<mlir::vector::ShapeCastOp>(op) || !isRematerializableShapeOp(*op)) break;
      v = op->getOperand(0);
    }
    return v;
  }

  bool joins(size_t i) {
    Nest& nest = s_.nests.back();
    const bool perRow = rowValued(i);
    if (!perRow && rowsOf(domain(i)) != nest.rows) return false;
    Reads reads = loadsOf(i, perRow);
    if (!reads.ok) return false;
    const ScheduledOp& p = s_.ops[i];
    for (size_t other : nest.ops) {
      const ScheduledOp& store = s_.ops[other];
      if (!store.isStore()) continue;
      if (p.isStore() && mayOverlap(*p.access, *store.access)) return false;
      if (p.isLoad() && mayOverlap(*p.access, *store.access)) return false;
      for (const auto& [load, map] : reads.loads)
        if (mayOverlap(*s_.ops[load].access, *store.access) && !(load < other && sameRows(s_.ops[load], store, map)))
          return false;
    }
    if (p.isStore()) {
      if (isCircular(i, reads)) return false;
      for (const auto& loads : {&nestLoads_, &reads.loads})
        for (const auto& [load, map] : *loads)
          if (mayOverlap(*s_.ops[load].access, *p.access) && !sameRows(s_.ops[load], p, map)) return false;
    }
    if (perRow && !p.isStore()) nest.rowValued.insert(p.op->getResult(0));
    remember(i, reads);
    return true;
  }

  void remember(size_t i, const Reads& reads) {
    nestLoads_.insert(nestLoads_.end(), reads.loads.begin(), reads.loads.end());
    if (!s_.ops[i].isStore()) return;
    for (const auto& [load, map] : reads.loads) storeLoads_.push_back(load);
  }

  /// Whether two stores of a nest each need what the other overwrites, so that neither can be delayed behind the other.
  bool isCircular(size_t i, const Reads& reads) const {
    const ScheduledOp& p = s_.ops[i];
    const bool isAwaited =
        llvm::any_of(storeLoads_, [&](size_t load) { return mayOverlap(*s_.ops[load].access, *p.access); });
    return isAwaited && llvm::any_of(s_.nests.back().ops, [&](size_t other) {
             return s_.ops[other].isStore() && llvm::any_of(reads.loads, [&](const auto& load) {
                      return mayOverlap(*s_.ops[load.first].access, *s_.ops[other].access);
                    });
           });
  }

  /// Whether a load and a store of the nest access the same box. Then an iteration may load although the nest stores,
  /// if each row reads only itself, in the same columns as the store or in none.
  static bool isSameBox(const ScheduledOp& load, const ScheduledOp& store) {
    return load.access->memory == store.access->memory && load.access->dtype == store.access->dtype &&
           load.access->shape == store.access->shape && haveSameAddress(*load.op, *store.op);
  }
  bool sameRows(const ScheduledOp& load, const ScheduledOp& store, const ElementMap& map) const {
    if (!isSameBox(load, store)) return false;
    const auto& rows = s_.nests.back().rows;
    const ElementMap whole = identityMap(load.access->shape, static_cast<int>(rows.size()));
    if (rowsOf(load.access->shape) != rows || whole.entries.size() != map.entries.size()) return false;
    for (size_t d = 0; d + 1 < map.entries.size(); ++d)
      if (map.entries[d] != whole.entries[d]) return false;
    return map.entries.empty() || map.entries.back() == whole.entries.back() ||
           map.entries.back().loop == MapEntry::kNone;
  }

  Reads loadsOf(size_t i, bool perRow = false) {
    Reads reads;
    seen_.clear();
    const Shape& rows = s_.nests.back().rows;
    const Shape shape = domain(i);
    const ElementMap map = perRow ? rowMap(shape) : identityMap(shape, static_cast<int>(rows.size()));
    const ScheduledOp& p = s_.ops[i];
    if (p.isLoad()) reads.loads.push_back({i, map});  // a materialised load; a store that overlaps it must not join
    for (mlir::Value v : inputs(i)) {
      if (!p.isStore() && isReduction(*p.op) && v == p.op->getOperand(1)) {
        const Shape kept = shapeOf(v.getType());
        if (isRowReduction(*p.op)) walk(v, rowMap(kept), reads);
        continue;
      }
      walk(v, map, reads);
    }
    return reads;
  }

  void walk(mlir::Value v, const ElementMap& map, Reads& reads) {
    auto at = s_.opOf.find(v);
    if (at == s_.opOf.end()) return;
    const size_t i = at->second;
    const ScheduledOp& p = s_.ops[i];
    auto& known = seen_[v];
    if (llvm::is_contained(known, map)) return;
    known.push_back(map);
    if (free(i)) {
      if (p.isLoad()) {
        reads.loads.push_back({i, map});
        return;
      }
      if (p.op->getNumOperands() == 0 || !isVector(p.op->getOperand(0))) return;
      if (auto inner = operandMap(*p.op, 0, map))
        walk(p.op->getOperand(0), *inner, reads);
      else
        reads.ok = false;
      return;
    }
    const int last = static_cast<int>(s_.nests.size()) - 1;
    if (nestOf_[i] != last) return;  // in memory by then
    if (p.isLoad()) {
      reads.loads.push_back({i, map});
      return;
    }
    if (isReduction(*p.op)) {
      reads.ok &= isRowReduction(*p.op) && map == rowMap(shapeOf(v.getType()));
      return;
    }
    for (unsigned k = 0; k < p.op->getNumOperands(); ++k)
      if (isVector(p.op->getOperand(k))) walk(p.op->getOperand(k), map, reads);
  }

  Segment s_;
  const llvm::DenseSet<mlir::Operation*>& toMaterialise_;
  std::vector<int> nestOf_;
  std::vector<std::pair<size_t, ElementMap>> nestLoads_;
  std::vector<size_t> storeLoads_;  ///< loads that stores of the last nest need
  llvm::DenseMap<mlir::Value, std::vector<ElementMap>> seen_;
};

/// Plans the nests of a segment in order, so that each can read the values that earlier nests materialise.
class NestSequence : public Surroundings {
 public:
  explicit NestSequence(const Surroundings& outside) : outside_(outside) {}

  void plan(Segment& segment) {
    for (Nest& nest : segment.nests) {
      for (const size_t i : nest.ops) computed_.insert(segment.ops[i].op);
      nest.plan = planNest(segment, nest, *this);
      for (const Buffer& b : nest.plan.buffers) {
        if (!b.value) continue;
        made_[b.value] = {b.dtype, b.shape, true, !b.reuses};
        if (b.reuses)
          if (auto old = stored(b.reuses)) made_[b.reuses] = {old->dtype, old->shape, old->isDense, false};
      }
    }
  }

  std::optional<StoredValue> stored(mlir::Value v) const override {
    const auto made = made_.find(v);
    return made == made_.end() ? outside_.stored(v) : made->second;
  }
  /// `computed_` includes the ops of the nest that is being planned.
  bool isLiveOut(mlir::Value v, const llvm::DenseSet<mlir::Operation*>&) const override {
    return outside_.isLiveOut(v, computed_);
  }
  DType storageDType(mlir::Value v) const override { return outside_.storageDType(v); }
  RowSchedule scheduleRows(const NestFacts& facts, const std::function<int64_t(size_t)>& cost) const override {
    return outside_.scheduleRows(facts, cost);
  }

 private:
  const Surroundings& outside_;
  llvm::DenseMap<mlir::Value, StoredValue> made_;
  llvm::DenseSet<mlir::Operation*> computed_;
};

}  // namespace

const ScheduledOp* Segment::find(mlir::Value v) const {
  const auto at = opOf.find(v);
  return at == opOf.end() ? nullptr : &ops[at->second];
}

Segment planSegment(std::vector<ScheduledOp> ops, const llvm::DenseSet<mlir::Operation*>& toMaterialise,
                    const Surroundings& surroundings) {
  Segment segment = Partition(std::move(ops), toMaterialise).run();
  NestSequence(surroundings).plan(segment);
  return segment;
}

Segment planSingleValue(std::vector<ScheduledOp> ops, mlir::Operation* op, const Surroundings& surroundings) {
  Segment segment;
  segment.ops = std::move(ops);
  for (size_t i = 0; i < segment.ops.size(); ++i) {
    for (mlir::Value r : segment.ops[i].op->getResults()) segment.opOf[r] = i;
    if (segment.ops[i].op != op) continue;
    segment.materialised.insert(op->getResult(0));
    segment.nests.push_back({rowsOf(shapeOf(op->getResult(0).getType())), {i}, {}, {}});
  }
  NestSequence(surroundings).plan(segment);
  return segment;
}

}  // namespace smalti::schedule
