// One loop nest: rows outside, columns inside in vectors, in as many phases as reductions of a row need.
#include <algorithm>
#include <set>

#include "cpu/lower/Elementwise.h"
#include "cpu/lower/IndexMap.h"
#include "cpu/lower/Reduction.h"
#include "cpu/lower/Segment.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti::cpu {
namespace {

bool isVector(mlir::Value v) { return llvm::isa<mlir::VectorType>(v.getType()); }

/// Something that a nest makes: memory it writes, or a reduction.
struct Root {
  enum class Kind : uint8_t { write, rowReduction, accumulation } kind = Kind::write;
  size_t op = 0;
  mlir::Value value, mask;
  ElementMap map;        ///< of the value
  View target;           ///< write: where; accumulation: the accumulators
  ElementMap targetMap;  ///< which element of the target
  bool adds = false;     ///< write: add to what is there
  int64_t columns = 1;   ///< 1: once per row
  int phase = 0;
  std::vector<Accumulator> accumulators;  ///< while the columns are walked, one per unrolled chunk
};

/// Columns [start, start + lanes) of a row.
struct Chunk {
  Reg start = nullptr;
  int lanes = 1;
  Reg mask = nullptr;
};

int64_t weightOf(mlir::Operation& op) { return op.getName().getDialectNamespace() == "math" ? 16 : 1; }

class NestEmitter {
 public:
  NestEmitter(Lowering& lowering, const Segment& segment, const Nest& nest)
      : l_(lowering), b_(lowering.b), s_(segment), nest_(nest), column_(static_cast<int>(nest.rows.size())) {
    inNest_.insert(nest.ops.begin(), nest.ops.end());
  }

  Native run() {
    for (size_t i : nest_.ops)
      if (auto ok = addRoot(i); !ok) return ok;
    if (roots_.empty()) return {};
    if (flattenable()) flatten();
    for (Root& r : roots_) r.phase = phaseOf(r);
    delayStores();
    keepExpensive();
    reusePlaces();
    for (Root& r : roots_)
      if (r.kind == Root::Kind::accumulation) l_.fill(r.target, accumulatorStart(r));
    rowLoop(0);
    for (Root& r : roots_)
      if (s_.materialised.contains(resultOf(r)) && r.kind == Root::Kind::accumulation)
        l_.setView(resultOf(r), r.target);
    for (auto& [value, view] : made_) l_.setView(value, view);
    return std::move(failure_);
  }

 private:
  // ---- roots

  mlir::Value resultOf(const Root& r) const {
    mlir::Operation* op = s_.ops[r.op].op;
    return op->getNumResults() == 1 ? op->getResult(0) : mlir::Value();
  }

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

  Native addRoot(size_t i) {
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
      return {};
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
        return {};
      }
      r.kind = Root::Kind::accumulation;
      r.target = l_.allocate(elementDType(result.getType()), shape);
      const auto dims = machine::flat::integersAttribute(*p.op, "reduction_dims");
      for (size_t d = 0; d < in.size(); ++d)
        if (!llvm::is_contained(dims, static_cast<int64_t>(d))) r.targetMap.entries.push_back(r.map.entries[d]);
      roots_.push_back(std::move(r));
      return {};
    }
    if (s_.materialised.contains(result)) materialise(i, result, mapOf(result));
    return {};
  }

  void materialise(size_t i, mlir::Value value, ElementMap map) {
    const Shape shape = shapeOf(value.getType());
    Root r;
    r.op = i;
    r.value = value;
    r.columns = columnsOf(map, shape);
    r.target = l_.allocate(elementDType(value.getType()), shape);
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
    if (const View* view = memoryOf(v)) return elements == 1 || (elements == n && isDense(*view));
    auto at = s_.opOf.find(v);
    if (at == s_.opOf.end()) return false;
    const PendingOp& p = s_.ops[at->second];
    if (p.isLoad()) return elements == 1 || (elements == n && isDense(*p.box));
    const llvm::StringRef name = p.op->getName().getStringRef();
    if (isNativeReduction(*p.op) || name == "tpu.iota" || name == "vector.extract_strided_slice") return false;
    if (name == "vector.broadcast") {
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
    if (!p.isLoad() && (isFree(p) || inNest_.contains(at->second))) {
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
    if (!p.isLoad() && (isFree(p) || inNest_.contains(at->second)))
      for (mlir::Value operand : p.op->getOperands()) depends = depends || dependsOn(operand, target, known);
    if (isNativeReductionValue(v)) depends = false;
    known[v] = depends;
    return depends;
  }
  bool isNativeReductionValue(mlir::Value v) { return v.getDefiningOp() && isNativeReduction(*v.getDefiningOp()); }

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

  /// A value that several phases or loops need and that is dear to compute is kept: a row of it in memory.
  void keepExpensive() {
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
      if (first == last || costOf(v) < 12) continue;
      Root r;
      r.op = i;
      r.value = v;
      r.map = map;
      r.columns = columns;
      r.phase = phaseOf(v);
      const auto made = std::ranges::find(made_, v, &std::pair<mlir::Value, View>::first);
      if (made != made_.end()) {  // it gets a place anyway
        kept_[v] = {made->second, map, r.phase};
        for (Root& other : roots_)
          if (other.value == v && other.op == i && other.kind == Root::Kind::write) other.phase = r.phase;
        continue;
      }
      r.target = l_.allocate(elementDType(v.getType()), std::array{columns});
      r.targetMap.entries = {MapEntry{column_, 0}};
      kept_[v] = {r.target, r.targetMap, r.phase};
      roots_.push_back(std::move(r));
    }
  }
  int64_t costOf(mlir::Value v) {
    auto at = s_.opOf.find(v);
    if (at == s_.opOf.end() || !isVector(v)) return 0;
    const PendingOp& p = s_.ops[at->second];
    if (p.isLoad() || isNativeReduction(*p.op) || kept_.contains(v)) return 1;
    if (!isFree(p) && !inNest_.contains(at->second)) return 1;
    if (auto known = costs_.find(v); known != costs_.end()) return known->second;
    costs_[v] = 1;
    int64_t cost = isFree(p) ? 0 : weightOf(*p.op);
    for (mlir::Value operand : p.op->getOperands()) cost += costOf(operand);
    cost = std::min<int64_t>(cost, 1000);
    costs_[v] = cost;
    return cost;
  }

  // ---- places

  /// Values in memory that a root reads, and whether each iteration reads just its own element of them.
  void readsOf(mlir::Value v, const ElementMap& map, const Root& root, llvm::DenseMap<mlir::Value, bool>& reads,
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
    if (isFree(p)) {
      if (auto inner = operandMap(*p.op, 0, map)) readsOf(p.op->getOperand(0), *inner, root, reads, seen);
      return;
    }
    for (mlir::Value operand : p.op->getOperands()) readsOf(operand, map, root, reads, seen);
  }

  /// A value that is made of another one, element by element, takes its place when nothing needs that any more.
  void reusePlaces() {
    std::vector<llvm::DenseMap<mlir::Value, bool>> reads(roots_.size());
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
        if (!own || taken.contains(value) || place.memory != View::kValue || place.owner.use_count() != 1 ||
            !isDense(place) || place.elements() != made->second.elements() ||
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
        if (auto kept = kept_.find(r.value); kept != kept_.end()) kept->second.view = made->second;
        break;
      }
    }
  }

  // ---- loops

  void rowLoop(size_t d) {
    if (flattened_ || d == nest_.rows.size()) {
      rowBody();
      return;
    }
    l_.loop(l_.index(0), l_.index(nest_.rows[d]), l_.index(1), [&](Reg row) {
      rows_.push_back(row);
      rowLoop(d + 1);
      rows_.pop_back();
    });
  }

  void rowBody() {
    rowMemo_.clear();
    int phases = 0;
    for (const Root& r : roots_) phases = std::max(phases, r.phase + 1);
    for (phase_ = 0; phase_ < phases; ++phase_) {
      for (Root& r : roots_)
        if (r.phase == phase_ && r.columns == 1) applyOnce(r);
      std::vector<int64_t> done;
      for (const Root& r : roots_) {
        if (r.phase != phase_ || r.columns == 1 || llvm::is_contained(done, r.columns)) continue;
        done.push_back(r.columns);
        std::vector<Root*> together;
        for (Root& other : roots_)
          if (other.phase == phase_ && other.columns == r.columns) together.push_back(&other);
        columnLoop(together, r.columns);
      }
    }
  }

  void applyOnce(Root& r) {
    const Chunk one{l_.index(0), 1, nullptr};
    chunkMemo_.clear();
    Reg value = eval(r.value, r.map, one);
    Reg mask = r.mask ? eval(r.mask, r.map, one) : nullptr;
    if (!value || (r.mask && !mask)) return;
    if (r.kind == Root::Kind::write)
      write(r, value, mask, one);
    else
      finishReduction(r, value);
  }

  void columnLoop(const std::vector<Root*>& roots, int64_t columns) {
    int lanes = l_.processor.lanes(4);
    while (lanes > 1 && lanes / 2 >= columns) lanes /= 2;
    int64_t weight = 0;
    for (Root* r : roots) weight += costOf(r->value) + 1;
    int unroll = weight <= 48 ? 4 : weight <= 96 ? 2 : 1;
    while (unroll > 1 && columns < static_cast<int64_t>(unroll) * lanes) unroll /= 2;
    const int64_t step = static_cast<int64_t>(lanes) * unroll, steps = columns / step;
    for (Root* r : roots)
      if (r->kind != Root::Kind::write) {
        r->accumulators.assign(static_cast<size_t>(unroll),
                               startAccumulator(b_, reductionKind(*s_.ops[r->op].op), registerDType(*r), lanes));
      }
    if (steps == 1) {
      chunks(roots, l_.index(0), lanes, unroll);
    } else if (steps > 1) {
      chunkLoop(roots, steps * step, step, lanes, unroll);
    }
    int64_t at = steps * step;
    for (; at + lanes <= columns; at += lanes) chunks(roots, l_.index(at), lanes, 1);
    if (at < columns) {
      llvm::SmallVector<llvm::Constant*, 64> on;
      for (int k = 0; k < lanes; ++k) on.push_back(b_.getInt1(k < columns - at));
      chunks(roots, l_.index(at), lanes, 1, llvm::ConstantVector::get(on));
    }
    for (Root* r : roots)
      if (r->kind != Root::Kind::write) {
        const auto kind = reductionKind(*s_.ops[r->op].op);
        const DType t = registerDType(*r);
        if (r->kind == Root::Kind::rowReduction || !r->targetMap.usesColumn(column_))
          finishReduction(*r, finishAccumulators(b_, kind, t, r->accumulators));
      }
  }

  void chunkLoop(const std::vector<Root*>& roots, int64_t end, int64_t step, int lanes, int unroll) {
    auto& context = b_.getContext();
    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto* body = llvm::BasicBlock::Create(context, "columns", l_.function);
    auto* after = llvm::BasicBlock::Create(context, "row.next", l_.function);
    b_.CreateBr(body);
    b_.SetInsertPoint(body);
    auto* start = b_.CreatePHI(b_.getInt64Ty(), 2, "column");
    start->addIncoming(l_.index(0), before);
    std::vector<llvm::PHINode*> phis;
    for (Root* r : roots)
      for (Accumulator& accumulator : r->accumulators)
        for (Reg& part : accumulator) {
          auto* phi = b_.CreatePHI(part->getType(), 2);
          phi->addIncoming(part, before);
          part = phi;
          phis.push_back(phi);
        }
    preheader_ = before;
    chunks(roots, start, lanes, unroll);
    preheader_ = nullptr;
    Reg next = b_.CreateAdd(start, l_.index(step), "", true, true);
    llvm::BasicBlock* latch = b_.GetInsertBlock();
    start->addIncoming(next, latch);
    size_t at = 0;
    for (Root* r : roots)
      for (Accumulator& accumulator : r->accumulators)
        for (Reg& part : accumulator) phis[at++]->addIncoming(part, latch);
    b_.CreateCondBr(b_.CreateICmpULT(next, l_.index(end)), body, after);
    b_.SetInsertPoint(after);
  }

  void chunks(const std::vector<Root*>& roots, Reg start, int lanes, int unroll, Reg mask = nullptr) {
    std::vector<std::vector<std::pair<Reg, Reg>>> values(static_cast<size_t>(unroll));
    std::vector<Chunk> chunk;
    for (int u = 0; u < unroll; ++u) {
      chunk.push_back({u == 0 ? start : b_.CreateAdd(start, l_.index(static_cast<int64_t>(u) * lanes)), lanes, mask});
      chunkMemo_.clear();
      for (Root* r : roots) {
        Reg value = eval(r->value, r->map, chunk.back());
        Reg chosen = r->mask ? eval(r->mask, r->map, chunk.back()) : nullptr;
        if (!value || (r->mask && !chosen)) return;
        values[static_cast<size_t>(u)].push_back({splatTo(value, lanes), chosen ? splatTo(chosen, lanes) : nullptr});
      }
    }
    for (int u = 0; u < unroll; ++u)
      for (size_t k = 0; k < roots.size(); ++k) {
        auto [value, chosen] = values[static_cast<size_t>(u)][k];
        apply(*roots[k], value, chosen, chunk[static_cast<size_t>(u)], static_cast<size_t>(u));
      }
  }

  void apply(Root& r, Reg value, Reg chosen, const Chunk& chunk, size_t u) {
    if (r.kind == Root::Kind::write) {
      write(r, value, chosen, chunk);
      return;
    }
    const auto kind = reductionKind(*s_.ops[r.op].op);
    const DType t = registerDType(r);
    if (r.kind == Root::Kind::accumulation && r.targetMap.usesColumn(column_)) {
      Reg old = loadFrom(r.target, r.targetMap, chunk);
      storeTo(r.target, r.targetMap, combine(b_, kind, t, old, value), chunk, chunk.mask);
      return;
    }
    if (chunk.mask) value = b_.CreateSelect(chunk.mask, value, splat(b_, identityOf(b_, kind, t), chunk.lanes));
    accumulate(b_, kind, t, r.accumulators[u], value);
  }

  DType registerDType(const Root& r) const { return elementDType(r.value.getType()); }

  /// One row is reduced: with what it starts from, and rounded.
  void finishReduction(Root& r, Reg reduced) {
    mlir::Operation& op = *s_.ops[r.op].op;
    const auto kind = reductionKind(op);
    const DType t = registerDType(r);
    const Chunk one{l_.index(0), 1, nullptr};
    if (r.kind == Root::Kind::accumulation) {
      Reg old = loadFrom(r.target, r.targetMap, one);
      storeTo(r.target, r.targetMap, combine(b_, kind, t, old, reduced), one, nullptr);
      return;
    }
    const mlir::Value result = op.getResult(0);
    const ElementMap map = rowMap(shapeOf(result.getType()));
    Reg start = eval(op.getOperand(1), map, one);
    if (!start) return;
    remember(rowMemo_, result, map, roundTo(b_, t, combine(b_, kind, t, start, reduced)));
  }

  Reg accumulatorStart(const Root& r) { return splatConstant(b_, s_.ops[r.op].op->getOperand(1)); }

  void write(Root& r, Reg value, Reg chosen, const Chunk& chunk) {
    Reg mask = chunk.mask;
    if (chosen) mask = mask ? b_.CreateAnd(mask, chosen) : chosen;
    if (r.adds) {
      Reg old = loadFrom(r.target, r.targetMap, chunk);
      const DType t = r.target.dtype;
      value = old->getType()->isFPOrFPVectorTy() ? roundTo(b_, t, b_.CreateFAdd(old, value)) : b_.CreateAdd(old, value);
    }
    storeTo(r.target, r.targetMap, value, chunk, mask);
  }

  // ---- memory

  bool perRow(const ElementMap& map) const { return !map.usesColumn(column_); }

  /// Position along one dimension; the column's is of its first lane.
  Reg position(const MapEntry& e, const Chunk& chunk) {
    Reg at = e.loop == MapEntry::kNone ? l_.index(0)
             : e.loop == column_       ? chunk.start
                                       : rows_[static_cast<size_t>(e.loop)];
    return e.offset ? b_.CreateAdd(at, l_.index(e.offset)) : at;
  }
  Reg pointer(const View& view, const ElementMap& map, const Chunk& chunk) {
    llvm::SmallVector<Reg, 6> at;
    for (const MapEntry& e : map.entries) at.push_back(position(e, chunk));
    return elementPointer(b_, view, at);
  }
  /// Elements between neighbouring columns; null: one element for all.
  Reg columnStride(const View& view, const ElementMap& map) {
    for (size_t d = 0; d < map.entries.size(); ++d)
      if (map.entries[d].loop == column_) return view.strides[d];
    return nullptr;
  }
  Reg lanePointers(const View& view, Reg first, Reg stride, int lanes) {
    llvm::SmallVector<llvm::Constant*, 64> numbers;
    for (int k = 0; k < lanes; ++k) numbers.push_back(b_.getInt64(static_cast<uint64_t>(k)));
    Reg offsets =
        b_.CreateMul(llvm::ConstantVector::get(numbers), b_.CreateVectorSplat(static_cast<unsigned>(lanes), stride));
    return b_.CreateGEP(storageType(b_.getContext(), view.dtype), first, offsets);
  }

  View flatView(const View& view) {
    View flat = view;
    flat.shape = {view.elements()};
    flat.strides = {l_.index(1)};
    return flat;
  }

  Reg loadFrom(const View& v, const ElementMap& map, const Chunk& chunk) {
    const View view = map.flat ? flatView(v) : v;
    Reg first = pointer(view, map, chunk);
    Reg stride = columnStride(view, map);
    if (!stride || chunk.lanes == 1) return loadElements(b_, view.dtype, first, 1);
    const auto step = constantOf(stride);
    if (step == 1) return loadElements(b_, view.dtype, first, chunk.lanes, chunk.mask);
    if (step == 0) return splat(b_, loadElements(b_, view.dtype, first, 1), chunk.lanes);
    // Lane by lane: a gather of narrow elements is that anyway.
    Reg pointers = lanePointers(view, first, stride, chunk.lanes);
    return gather(view.dtype, pointers, chunk);
  }
  Reg gather(DType t, Reg pointers, const Chunk& chunk) {
    llvm::Type* element = storageType(b_.getContext(), t);
    auto* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(chunk.lanes));
    Reg mask = chunk.mask ? chunk.mask : b_.CreateVectorSplat(static_cast<unsigned>(chunk.lanes), b_.getTrue());
    Reg stored = b_.CreateMaskedGather(type, pointers, llvm::Align(static_cast<uint64_t>(storage_bytes(t))), mask,
                                       llvm::Constant::getNullValue(type));
    return fromStorage(b_, t, stored);
  }

  void storeTo(const View& view, const ElementMap& map, Reg value, const Chunk& chunk, Reg mask) {
    Reg first = pointer(view, map, chunk);
    Reg stride = columnStride(view, map);
    if (!stride || chunk.lanes == 1) {
      if (mask && !llvm::isa<llvm::FixedVectorType>(mask->getType())) {
        // One element: skipped where it is not chosen.
        l_.when(mask, [&] { storeElements(b_, view.dtype, value, first, 1); });
        return;
      }
      storeElements(b_, view.dtype, value, first, 1);
      return;
    }
    if (constantOf(stride) == 1) {
      storeElements(b_, view.dtype, value, first, chunk.lanes, mask);
      return;
    }
    Reg all = mask ? mask : b_.CreateVectorSplat(static_cast<unsigned>(chunk.lanes), b_.getTrue());
    b_.CreateMaskedScatter(toStorage(b_, view.dtype, value), lanePointers(view, first, stride, chunk.lanes),
                           llvm::Align(static_cast<uint64_t>(storage_bytes(view.dtype))), all);
  }

  // ---- values

  struct Known {
    ElementMap map;
    Reg value;
  };
  using Memo = llvm::DenseMap<mlir::Value, llvm::SmallVector<Known, 1>>;

  static Reg recall(const Memo& memo, mlir::Value v, const ElementMap& map) {
    auto at = memo.find(v);
    if (at == memo.end()) return nullptr;
    for (const Known& k : at->second)
      if (k.map == map) return k.value;
    return nullptr;
  }
  static void remember(Memo& memo, mlir::Value v, const ElementMap& map, Reg r) { memo[v].push_back({map, r}); }

  Reg splatTo(Reg r, int lanes) {
    return lanes > 1 && !llvm::isa<llvm::FixedVectorType>(r->getType()) ? splat(b_, r, lanes) : r;
  }

  const View* memoryOf(mlir::Value v) const {
    if (auto kept = kept_.find(v); kept != kept_.end() && kept->second.phase < phase_) return &kept->second.view;
    return l_.findView(v);
  }

  /// The elements of a value that a chunk needs: one register of its lanes, or a scalar where the row decides.
  Reg eval(mlir::Value v, const ElementMap& map, const Chunk& chunk) {
    if (!isVector(v)) return l_.scalar(v);
    if (isSplatConstant(v)) return splatConstant(b_, v);
    if (perRow(map)) {
      if (Reg known = recall(rowMemo_, v, map)) return known;
      const Chunk one{l_.index(0), 1, nullptr};
      Reg r = nullptr;
      if (preheader_ && b_.GetInsertBlock() != preheader_) {
        llvm::IRBuilderBase::InsertPointGuard guard(b_);
        b_.SetInsertPoint(preheader_->getTerminator());
        r = compute(v, map, one);
        preheader_ = b_.GetInsertBlock();
      } else {
        r = compute(v, map, one);
      }
      if (r) remember(rowMemo_, v, map, r);
      return r;
    }
    if (Reg known = recall(chunkMemo_, v, map)) return known;
    Reg r = compute(v, map, chunk);
    if (r) remember(chunkMemo_, v, map, r);
    return r;
  }

  Reg compute(mlir::Value v, const ElementMap& map, const Chunk& chunk) {
    if (auto kept = kept_.find(v);
        kept != kept_.end() && kept->second.phase < phase_ && map == identityMap(shapeOf(v.getType()), column_))
      return loadFrom(kept->second.view, kept->second.map, chunk);
    if (const View* view = l_.findView(v)) return loadFrom(*view, map, chunk);
    auto at = s_.opOf.find(v);
    if (at == s_.opOf.end()) return refuse("a value has no place in memory");
    const PendingOp& p = s_.ops[at->second];
    if (p.isLoad()) return loadFrom(*p.box, map, chunk);
    mlir::Operation& op = *p.op;
    const llvm::StringRef name = op.getName().getStringRef();
    if (name == "tpu.iota") return iota(op, map, chunk);
    if (isNativeReduction(op)) return refuse("a reduction is used before its row is done");
    if (isFree(p)) {
      auto inner = operandMap(op, 0, map);
      if (!inner) return refuse("a reshape inside a nest");
      Reg r = eval(op.getOperand(0), *inner, chunk);
      return r && !perRow(map) ? splatTo(r, chunk.lanes) : r;
    }
    const EmitElement emit = findElementwise(op);
    std::vector<Reg> operands;
    bool wide = false;
    for (mlir::Value operand : op.getOperands()) {
      operands.push_back(eval(operand, map, chunk));
      if (!operands.back()) return nullptr;
      wide |= llvm::isa<llvm::FixedVectorType>(operands.back()->getType());
    }
    if (wide)
      for (Reg& r : operands) r = splatTo(r, chunk.lanes);
    Reg r = emit({b_, op, operands, elementDType(op.getOperand(0).getType()), elementDType(v.getType())});
    return r ? r : refuse("an op is not native after all");
  }

  Reg iota(mlir::Operation& op, const ElementMap& map, const Chunk& chunk) {
    const auto d = static_cast<size_t>(iotaDimension(op));
    const MapEntry& e = map.entries[d];
    llvm::Type* type = registerType(b_.getContext(), elementDType(op.getResult(0).getType()), 1);
    Reg first = b_.CreateTrunc(position(e, chunk), type);
    if (e.loop != column_ || chunk.lanes == 1) return first;
    llvm::SmallVector<llvm::Constant*, 64> numbers;
    for (int k = 0; k < chunk.lanes; ++k) numbers.push_back(llvm::ConstantInt::get(type, static_cast<uint64_t>(k)));
    return b_.CreateAdd(splat(b_, first, chunk.lanes), llvm::ConstantVector::get(numbers));
  }

  Reg refuse(std::string why) {
    if (failure_) failure_ = notNative(std::move(why));
    return nullptr;
  }

  struct Kept {
    View view;
    ElementMap map;
    int phase = 0;
  };

  Lowering& l_;
  Builder& b_;
  const Segment& s_;
  const Nest& nest_;
  int column_;
  bool flattened_ = false;
  int phase_ = 0;
  std::set<size_t> inNest_;
  std::vector<Root> roots_;
  std::vector<std::pair<mlir::Value, View>> made_;
  llvm::DenseMap<mlir::Value, bool> flat_;
  llvm::DenseMap<mlir::Value, int> phases_;
  llvm::DenseMap<mlir::Value, int64_t> costs_;
  llvm::DenseMap<mlir::Value, Kept> kept_;
  std::vector<Reg> rows_;
  Memo rowMemo_, chunkMemo_;
  llvm::BasicBlock* preheader_ = nullptr;
  Native failure_;
};

}  // namespace

Native emitNest(Lowering& lowering, const Segment& segment, const Nest& nest) {
  return NestEmitter(lowering, segment, nest).run();
}

}  // namespace smalti::cpu
