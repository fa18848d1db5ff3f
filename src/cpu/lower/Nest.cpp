// One loop nest: rows outside, columns inside in vectors, in as many phases as reductions of a row need.
#include <algorithm>

#include "cpu/lower/Chunk.h"
#include "cpu/lower/Elementwise.h"
#include "cpu/lower/NestPlan.h"
#include "cpu/lower/OverlapTrips.h"
#include "cpu/lower/RowDivision.h"
#include "cpu/lower/RowSlots.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti::cpu {
namespace {

class NestEmitter {
 public:
  NestEmitter(Lowering& lowering, const Segment& segment, const Nest& nest)
      : l_(lowering), b_(lowering.b), s_(segment), nest_(nest), plan_(planNest(lowering, segment, nest)) {}

  Native run() {
    if (roots_.empty()) return {};
    for (Root& r : roots_)
      if (r.kind == Root::Kind::accumulation) l_.fill(r.target, accumulatorStart(r));
    rowLoop(0);
    for (auto& [value, view] : plan_.made) l_.setView(value, view);
    return std::move(failure_);
  }

 private:
  // ---- loops

  void rowLoop(size_t d) {
    if (plan_.flattened || d == nest_.rows.size()) {
      rowBody();
      return;
    }
    const bool groups = d + 1 == nest_.rows.size() && plan_.group > 1;
    l_.loop(l_.index(0), l_.index(nest_.rows[d]), l_.index(groups ? plan_.group : 1), [&](Reg row) {
      if (groups) {
        group(row, nest_.rows[d]);
        return;
      }
      rows_.push_back(row);
      rowLoop(d + 1);
      rows_.pop_back();
    });
  }

  /// Rows from `first` on, phase by phase.
  void group(Reg first, int64_t rows) {
    Reg end = b_.CreateAdd(first, l_.index(plan_.group), "", true, true);
    if (rows % plan_.group != 0) end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, end, l_.index(rows));
    for (phase_ = 0; phase_ < phases(); ++phase_) {
      l_.loop(first, end, l_.index(1), [&](Reg row) {
        rows_.push_back(row);
        groupRow_ = b_.CreateSub(row, first, "", true, true);
        rowMemo_.clear();
        phase();
        rows_.pop_back();
      });
    }
  }

  int phases() const {
    int phases = 0;
    for (const Root& r : roots_) phases = std::max(phases, r.phase + 1);
    return phases;
  }

  void rowBody() {
    rowMemo_.clear();
    for (phase_ = 0; phase_ < phases(); ++phase_) phase();
  }

  /// What the current phase does with one row.
  void phase() {
    applyOnce();
    std::vector<int64_t> done;
    for (const Root& r : roots_) {
      if (r.phase != phase_ || r.columns == 1 || llvm::is_contained(done, r.columns)) continue;
      done.push_back(r.columns);
      std::vector<Root*> together;
      for (Root& other : roots_)
        if (other.phase == phase_ && other.columns == r.columns) together.push_back(&other);
      dividedColumns(together, r.columns);
    }
  }

  /// Rows divided by a value of their own are multiplied by its inverse; a second loop divides, for the few values
  /// whose inverse will not do. In the last phase, which leaves nothing for others that only one of the loops would
  /// know.
  void dividedColumns(const std::vector<Root*>& roots, int64_t columns) {
    constexpr int64_t kWorthAnInverse = 128;
    const bool last = phase_ + 1 == phases();
    const auto writes = [](const Root* r) { return r->kind == Root::Kind::write; };
    llvm::SmallVector<RowValue, 2> divisors;
    if (last && columns >= kWorthAnInverse && llvm::all_of(roots, writes))
      for (const Root* r : roots)
        findRowDivisors(s_, r->value, r->map, column_, [&](mlir::Value v) { return isMade(v); }, divisors);
    Reg useful = b_.getTrue();
    for (const RowValue& d : divisors) {
      Reg divisor = eval(d.value, d.map, {l_.index(0), 1, nullptr});
      if (!divisor) return;
      useful = b_.CreateAnd(useful, hasUsefulInverse(b_, divisor));
      inverses_.push_back({d, b_.CreateFDiv(llvm::ConstantFP::get(divisor->getType(), 1.0), divisor)});
    }
    if (divisors.empty()) {
      columnLoop(roots, columns);
      return;
    }
    const Memo known = rowMemo_;
    const auto loop = [&] {
      columnLoop(roots, columns);
      inverses_.clear();
      rowMemo_ = known;
    };
    l_.either(useful, loop, loop);
  }

  /// Roots with one element per row: all are evaluated before one is written.
  void applyOnce() {
    const Chunk one{l_.index(0), 1, nullptr};
    chunkMemo_.clear();
    std::vector<std::tuple<Root*, Reg, Reg>> all;
    for (Root& r : roots_) {
      if (r.phase != phase_ || r.columns != 1) continue;
      Reg value = eval(r.value, r.map, one);
      Reg mask = r.mask ? eval(r.mask, r.map, one) : nullptr;
      if (!value || (r.mask && !mask)) return;
      all.emplace_back(&r, value, mask);
    }
    for (auto& [r, value, mask] : all) {
      if (r->kind == Root::Kind::write)
        write(*r, value, mask, one);
      else
        finishReduction(*r, value);
    }
  }

  void columnLoop(const std::vector<Root*>& roots, int64_t columns) {
    int lanes = l_.processor.lanes(4);
    while (lanes > 1 && lanes / 2 >= columns) lanes /= 2;
    int64_t weight = 0;
    for (Root* r : roots) weight += r->cost;
    // Several registers as one value: LLVM interleaves what it makes of them. Past the caches one line at a time, so
    // that loads and stores of memory take turns.
    const bool streams = llvm::any_of(roots, [](const Root* r) { return r->target.streamed; });
    int wide = lanes * (streams ? 1 : weight <= 48 ? 4 : weight <= 96 ? 2 : 1);
    // Nothing but sums: each waits for the one before.
    const auto adds = [&](const Root* r) {
      return r->kind == Root::Kind::rowReduction && reductionKind(*s_.ops[r->op].op) == eval::ReduceKind::add;
    };
    constexpr int64_t kFewOps = 8;
    if (weight <= kFewOps && l_.processor.vectorRegisters >= 32 && columns >= 16 * lanes && llvm::all_of(roots, adds))
      wide = 8 * lanes;
    while (wide > lanes && columns < wide) wide /= 2;
    const int64_t steps = columns / wide;
    for (Root* r : roots)
      if (r->kind != Root::Kind::write) {
        const auto kind = reductionKind(*s_.ops[r->op].op);
        r->accumulators = {startAccumulator(b_, kind, registerDType(*r), wide)};
        if (columns % wide) r->accumulators.push_back(startAccumulator(b_, kind, registerDType(*r), lanes));
      }
    if (steps == 1)
      chunk(roots, {l_.index(0), wide, nullptr}, 0);
    else if (steps > 1)
      chunkLoop(roots, steps * wide, wide);
    int64_t at = steps * wide;
    for (; at + lanes <= columns; at += lanes) chunk(roots, {l_.index(at), lanes, nullptr}, 1);
    if (at < columns) {
      llvm::SmallVector<llvm::Constant*, 64> on;
      for (int k = 0; k < lanes; ++k) on.push_back(b_.getInt1(k < columns - at));
      chunk(roots, {l_.index(at), lanes, llvm::ConstantVector::get(on)}, 1);
    }
    for (Root* r : roots)
      if (r->kind != Root::Kind::write) {
        const auto kind = reductionKind(*s_.ops[r->op].op);
        const DType t = registerDType(*r);
        if (r->kind == Root::Kind::rowReduction || !r->targetMap.usesColumn(column_))
          finishReduction(*r, finishAccumulators(b_, kind, t, r->accumulators));
      }
  }

  void chunkLoop(const std::vector<Root*>& roots, int64_t end, int lanes) {
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
    chunk(roots, {start, lanes, nullptr}, 0);
    preheader_ = nullptr;
    Reg next = b_.CreateAdd(start, l_.index(lanes), "", true, true);
    llvm::BasicBlock* latch = b_.GetInsertBlock();
    start->addIncoming(next, latch);
    size_t at = 0;
    for (Root* r : roots)
      for (Accumulator& accumulator : r->accumulators)
        for (Reg& part : accumulator) phis[at++]->addIncoming(part, latch);
    b_.CreateCondBr(b_.CreateICmpULT(next, l_.index(end)), body, after);
    b_.SetInsertPoint(after);
    if (latch == body) overlap(roots, {start->getIncomingBlock(0), body, after, start, end, lanes});
  }

  void overlap(const std::vector<Root*>& roots, const OneBlockLoop& loop) {
    llvm::SmallVector<Reg, 8> sums;
    for (Root* r : roots)
      for (Accumulator& accumulator : r->accumulators) sums.append(accumulator.begin(), accumulator.end());
    const llvm::SmallVector<Reg, 8> now = overlapTrips(loop, l_.processor, sums);
    if (now.empty()) return;
    size_t at = 0;
    for (Root* r : roots)
      for (Accumulator& accumulator : r->accumulators)
        for (Reg& part : accumulator) part = now[at++];
  }

  /// Everything is evaluated before anything is written. `part`: of the accumulators.
  void chunk(const std::vector<Root*>& roots, const Chunk& columns, size_t part) {
    std::vector<std::pair<Reg, Reg>> values;
    chunkMemo_.clear();
    for (Root* r : roots) {
      Reg value = eval(r->value, r->map, columns);
      Reg chosen = r->mask ? eval(r->mask, r->map, columns) : nullptr;
      if (!value || (r->mask && !chosen)) return;
      values.push_back({splatTo(value, columns.lanes), chosen ? splatTo(chosen, columns.lanes) : nullptr});
    }
    for (size_t k = 0; k < roots.size(); ++k) apply(*roots[k], values[k].first, values[k].second, columns, part);
    // Not while the first phase itself waits for what it reads.
    if (phase_ == 1) prefetchRowsAhead(columns);
  }

  /// Not in the first cache.
  bool isWorthAsking(const View& view) const {
    return view.distant ||
           (view.memory != View::kValue && view.elements() * storage_bytes(view.dtype) >= l_.processor.l1Bytes / 2);
  }

  /// What the first phase reads, of rows whose turn comes later.
  void prefetchRowsAhead(const Chunk& chunk) {
    for (const auto& [view, map] : firstReads_) {
      const auto row = llvm::find_if(map.entries, [&](const MapEntry& e) { return e.loop == column_ - 1; });
      if (row == map.entries.end()) continue;
      Reg stride = view.strides[static_cast<size_t>(row - map.entries.begin())];
      Reg next = b_.CreateGEP(storageType(b_.getContext(), view.dtype), pointer(view, map, chunk),
                              b_.CreateMul(stride, l_.index(plan_.ahead)));
      prefetchChunk(b_, view.dtype, next, chunk.lanes, plan_.aheadInto);
    }
  }

  void apply(Root& r, Reg value, Reg chosen, const Chunk& chunk, size_t part) {
    if (r.kind == Root::Kind::write) {
      write(r, value, chosen, chunk);
      return;
    }
    const auto kind = reductionKind(*s_.ops[r.op].op);
    const DType t = registerDType(r);
    if (r.kind == Root::Kind::accumulation && r.targetMap.usesColumn(column_)) {
      Reg old = loadFrom(r.target, r.targetMap, chunk);
      storeChunk(l_, elements(r.target, r.targetMap, chunk), combine(b_, kind, t, old, value), chunk, chunk.mask);
      return;
    }
    if (chunk.mask) value = b_.CreateSelect(chunk.mask, value, splat(b_, identityOf(b_, kind, t), chunk.lanes));
    accumulate(b_, kind, t, r.accumulators[part], value);
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
      storeChunk(l_, elements(r.target, r.targetMap, one), combine(b_, kind, t, old, reduced), one, nullptr);
      return;
    }
    const mlir::Value result = op.getResult(0);
    const ElementMap map = rowMap(shapeOf(result.getType()));
    Reg start = eval(op.getOperand(1), map, one);
    if (!start) return;
    Reg rounded = roundTo(b_, t, combine(b_, kind, t, start, reduced));
    rowMemo_.add(result, map, rounded);
    keepForLaterPhases(result, map, rounded);
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
    storeChunk(l_, elements(r.target, r.targetMap, chunk), value, chunk, mask);
  }

  // ---- memory

  bool perRow(const ElementMap& map) const { return !map.usesColumn(column_); }

  /// Position along one dimension; the column's is of its first lane.
  Reg position(const MapEntry& e, const Chunk& chunk) {
    Reg at = e.loop == MapEntry::kNone       ? l_.index(0)
             : e.loop == MapEntry::kGroupRow ? groupRow_
             : e.loop == column_             ? chunk.start
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
  Elements elements(const View& view, const ElementMap& map, const Chunk& chunk) {
    return {view, pointer(view, map, chunk), columnStride(view, map)};
  }

  static View flatView(const View& view, Reg one) {
    View flat = view;
    flat.shape = {view.elements()};
    flat.strides = {one};
    return flat;
  }

  Reg loadFrom(const View& v, const ElementMap& map, const Chunk& chunk) {
    const Elements e = elements(map.flat ? flatView(v, l_.index(1)) : v, map, chunk);
    if (phase_ == 0 && preheader_ && !map.flat && chunk.lanes > 1 && e.stride && constantOf(e.stride) == 1 &&
        isWorthAsking(v))
      firstReads_.push_back({v, map});
    return loadChunk(b_, e, chunk);
  }

  // ---- values

  /// When computing it again is dear or impossible.
  void keepForLaterPhases(mlir::Value v, const ElementMap& map, Reg r) {
    if (plan_.group > 1 && phase_ + 1 < phases()) slots_.keep(v, map, r, phase_, groupRow_);
  }
  static bool isDear(mlir::Value v) {
    mlir::Operation* op = v.getDefiningOp();
    return op && (op->getName().getDialectNamespace() == "math" || op->getName().getStringRef() == "arith.divf");
  }

  Reg splatTo(Reg r, int lanes) {
    return lanes > 1 && !llvm::isa<llvm::FixedVectorType>(r->getType()) ? splat(b_, r, lanes) : r;
  }

  /// The elements of a value that a chunk needs: one register of its lanes, or a scalar where the row decides.
  Reg eval(mlir::Value v, const ElementMap& map, const Chunk& chunk) {
    if (!isVector(v)) return l_.scalar(v);
    if (isSplatConstant(v)) return splatConstant(b_, v);
    if (perRow(map)) {
      if (Reg known = rowMemo_.find(v, map)) return known;
      const Chunk one{l_.index(0), 1, nullptr};
      Reg r = nullptr;
      if (preheader_ && b_.GetInsertBlock() != preheader_) {
        llvm::IRBuilderBase::InsertPointGuard guard(b_);
        b_.SetInsertPoint(preheader_->getTerminator());
        r = computeForRow(v, map, one);
        preheader_ = b_.GetInsertBlock();
      } else {
        r = computeForRow(v, map, one);
      }
      if (r) rowMemo_.add(v, map, r);
      return r;
    }
    if (Reg known = chunkMemo_.find(v, map)) return known;
    Reg r = compute(v, map, chunk);
    if (r) chunkMemo_.add(v, map, r);
    return r;
  }

  Reg computeForRow(mlir::Value v, const ElementMap& map, const Chunk& one) {
    if (Reg kept = slots_.find(v, map, phase_, groupRow_)) return kept;
    Reg r = compute(v, map, one);
    if (r && isDear(v)) keepForLaterPhases(v, map, r);
    return r;
  }

  /// In memory since an earlier phase.
  bool isKept(mlir::Value v) const {
    auto kept = kept_.find(v);
    return kept != kept_.end() && kept->second.phase < phase_;
  }
  bool isMade(mlir::Value v) const { return isKept(v) || l_.findView(v); }

  /// Null: the divisor's inverse is not known.
  Reg byInverse(mlir::Operation& op, const ElementMap& map, llvm::ArrayRef<Reg> operands, int lanes) {
    if (inverses_.empty() || op.getName().getStringRef() != "arith.divf") return nullptr;
    const auto divisor = rowValueOf(s_, op.getOperand(1), map, column_);
    for (const auto& [value, inverse] : inverses_)
      if (divisor && value == *divisor)
        return roundTo(b_, elementDType(op.getResult(0).getType()),
                       quotientByInverse(b_, operands[0], operands[1], splatTo(inverse, lanes)));
    return nullptr;
  }

  Reg compute(mlir::Value v, const ElementMap& map, const Chunk& chunk) {
    if (isKept(v) && map == identityMap(shapeOf(v.getType()), column_)) {
      const KeptRow& row = kept_.find(v)->second;
      return loadFrom(row.view, row.map, chunk);
    }
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
    if (Reg quotient = wide ? byInverse(op, map, operands, chunk.lanes) : nullptr) return quotient;
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

  Lowering& l_;
  Builder& b_;
  const Segment& s_;
  const Nest& nest_;
  NestPlan plan_;
  std::vector<Root>& roots_ = plan_.roots;
  const llvm::DenseMap<mlir::Value, KeptRow>& kept_ = plan_.kept;
  const int column_ = plan_.column;
  int phase_ = 0;
  std::vector<Reg> rows_;
  Reg groupRow_ = nullptr;
  RowSlots slots_{l_, plan_.group};
  Memo rowMemo_, chunkMemo_;
  llvm::SmallVector<std::pair<RowValue, Reg>, 2> inverses_;  ///< where rows are multiplied by them
  std::vector<std::pair<View, ElementMap>> firstReads_;      ///< from memory, along the columns, in the first phase
  llvm::BasicBlock* preheader_ = nullptr;
  Native failure_;
};

}  // namespace

Native emitNest(Lowering& lowering, const Segment& segment, const Nest& nest) {
  return NestEmitter(lowering, segment, nest).run();
}

}  // namespace smalti::cpu
