// One loop nest: rows outside, columns inside in vectors, in as many phases as reductions of a row need.
#include <algorithm>
#include <optional>

#include "cpu/emit/Measured.h"
#include "cpu/emit/RowBounds.h"
#include "cpu/nest/ModuloSchedule.h"
#include "cpu/nest/NestEmitter.h"
#include "cpu/nest/NestValues.h"
#include "cpu/nest/Reduction.h"
#include "cpu/ops/NativeOps.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti::cpu {
namespace {

/// A root of the nest, and where its result goes.
struct EmittedRoot : Root {
  bool prefetchesTarget = false;          ///< NestDetails::prefetchedTargets
  View target;                            ///< write: what is written; accumulation: the accumulators
  std::vector<Accumulator> accumulators;  ///< during the column loop; the second is for the remainder
};

/// The row before, whose last phase is computed together with the current phase.
struct PreviousRow {
  const ColumnLoop* loop;
  std::vector<EmittedRoot*> roots;
  NestPlace place;
};

class NestEmitter {
 public:
  NestEmitter(NativeLowering& lowering, const Segment& segment, const Nest& nest, const NestDetails& details)
      : l_(lowering), b_(lowering.b), s_(segment), nest_(nest), plan_(nest.plan), details_(details) {}

  NativeResult run() {
    if (plan_.roots.empty()) return {};
    if (!allocateBuffers()) return unsupported(kOtherPlan);
    for (size_t i = 0; i < plan_.roots.size(); ++i)
      roots_.push_back({plan_.roots[i], details_.prefetchedTargets.contains(i), targetOf(plan_.roots[i]), {}});
    for (EmittedRoot& r : roots_)
      if (r.kind == Root::Kind::accumulation) l_.fill(r.target, accumulatorStart(r));
    if (details_.neededRows) {
      bounds_ = rowBounds(l_, *details_.neededRows, nest_.rows.front());
      if (!bounds_) return unsupported("row bounds that are not known before a nest");
    }
    std::vector<View> loaded;
    if (details_.maskedLoads)
      if (auto ok = takeMaskedLoads(*details_.maskedLoads, loaded); !ok) return ok;
    if (details_.sharedRows)
      sharedRowLoop();
    else
      rowLoop(0);
    for (size_t i = 0; i < plan_.buffers.size(); ++i)
      if (plan_.buffers[i].value) l_.setView(plan_.buffers[i].value, loaded.empty() ? buffers_[i] : loaded[i]);
    return std::move(values_.status);
  }

 private:
  // ---- memory

  /// False: the value whose buffer is reused has no memory, or shares it with another one, which would be overwritten.
  bool allocateBuffers() {
    for (const Buffer& b : plan_.buffers)
      buffers_.push_back(details_.sharedRows && !b.value ? onStack(b) : l_.allocate(b.dtype, b.shape));
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      if (!plan_.buffers[i].reuses) continue;
      const View* old = l_.findView(plan_.buffers[i].reuses);
      if (!old || old->owner.use_count() > 1) return false;
      buffers_[i].base = old->base;
      buffers_[i].owner = old->owner;
    }
    return true;
  }

  /// Memory that each thread has for itself.
  View onStack(const Buffer& b) {
    llvm::BasicBlock& entry = l_.function->getEntryBlock();
    auto* type =
        llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(num_elements(b.shape) * storage_bytes(b.dtype)));
    auto* memory = Builder(&entry, entry.begin()).CreateAlloca(type);
    memory->setAlignment(llvm::Align(kLineBytes));
    View v;
    v.dtype = b.dtype;
    v.shape = b.shape;
    v.base = memory;
    v.strides = denseStrides(b_, b.shape);
    return v;
  }

  View targetOf(const Root& r) const {
    if (r.kind == Root::Kind::rowReduction) return {};
    View target = r.buffer ? buffers_[*r.buffer] : l_.boxOf(s_.ops[r.op].op);
    if (plan_.flattened) {
      target.shape = {r.columns};
      target.strides = {l_.index(1)};
    }
    return target;
  }

  // ---- loops

  /// The nest only copies masked rows. `either`: the views to use instead of its buffers, which are the rows in memory
  /// if the mask keeps all of them, so that no row is copied.
  NativeResult takeMaskedLoads(const MaskedLoads& masked, std::vector<View>& either) {
    Reg number = hoistedScalar(l_, masked.count);
    if (!number) return unsupported("a number of rows that is not known before a nest");
    Reg all = b_.CreateICmpSGE(b_.CreateSExt(number, b_.getInt64Ty()), l_.index(nest_.rows[0]));
    bounds_ = {l_.index(0), b_.CreateSelect(all, l_.index(0), l_.index(nest_.rows[0]))};
    either = buffers_;
    for (size_t i = 0; i < either.size(); ++i) {
      const View& source = l_.boxOf(masked.loads[i]);
      either[i].base = b_.CreateSelect(all, source.base, buffers_[i].base);
      for (size_t d = 0; d + 1 < either[i].strides.size(); ++d)
        either[i].strides[d] = b_.CreateSelect(all, source.strides[d], buffers_[i].strides[d]);
      either[i].memory = l_.newMemory();  // no other value may reuse it as a buffer
    }
    return {};
  }

  /// Threads take rows of the outermost loop, in groups.
  void sharedRowLoop() {
    const int64_t rows = nest_.rows.front(), group = details_.sharedRows;
    emitShared(l_, ceilDiv(rows, group), [&](Reg first, Reg last) {
      RowBounds part{
          b_.CreateMul(first, l_.index(group)),
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateMul(last, l_.index(group)), l_.index(rows))};
      if (bounds_) {
        part.begin = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, part.begin, bounds_->begin);
        part.end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, part.end, bounds_->end);
      }
      bounds_ = part;
      rowLoop(0);
    });
  }

  void rowLoop(size_t d) {
    if (plan_.flattened || d == nest_.rows.size()) {
      at_.row.clear();
      for (at_.phase = 0; at_.phase < plan_.phases(); ++at_.phase) phase();
      return;
    }
    const bool innermost = d + 1 == nest_.rows.size(), blocks = innermost && plan_.rows.rowBlock > 1;
    if (innermost && plan_.rows.pipelinesLastPhase) {
      pipelinedRows(nest_.rows[d]);
      return;
    }
    const bool bounded = d == 0 && bounds_;
    Reg begin = bounded ? bounds_->begin : l_.index(0), end = bounded ? bounds_->end : l_.index(nest_.rows[d]);
    l_.loop(begin, end, l_.index(blocks ? plan_.rows.rowBlock : 1), [&](Reg row) {
      if (blocks) {
        rowBlock(row, end);
        return;
      }
      at_.rows.push_back(row);
      rowLoop(d + 1);
      at_.rows.pop_back();
    });
  }

  /// Rows from `first` on, phase by phase; `last`: past the last row.
  void rowBlock(Reg first, Reg last) {
    Reg end = b_.CreateAdd(first, l_.index(plan_.rows.rowBlock), "", true, true);
    if (const auto rows = constantOf(last); !rows || *rows % plan_.rows.rowBlock != 0)
      end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, end, last);
    for (at_.phase = 0; at_.phase < plan_.phases(); ++at_.phase) {
      l_.loop(first, end, l_.index(1), [&](Reg row) {
        at_.rows.push_back(row);
        at_.bufferedRow = b_.CreateSub(row, first, "", true, true);
        at_.row.clear();
        phase();
        at_.rows.pop_back();
      });
    }
  }

  /// Row by row, each one's last phase during the phase before it of the next row.
  void pipelinedRows(int64_t rows) {
    const int last = plan_.phases() - 1;
    l_.loop(l_.index(0), l_.index(rows), l_.index(1), [&](Reg row) {
      at_ = placeOf(row, 0);
      for (; at_.phase + 1 < last; ++at_.phase) phase();
      phaseWithPreviousRow(row);
      at_.rows.pop_back();
    });
    at_ = placeOf(l_.index(rows - 1), last);
    phase();
    at_.rows.pop_back();
  }
  /// Rows of the loops outside, and this one.
  NestPlace placeOf(Reg row, int phase) {
    NestPlace place;
    place.phase = phase;
    place.rows = at_.rows;
    place.rows.push_back(row);
    place.bufferedRow = b_.CreateAnd(row, l_.index(plan_.rows.bufferedRows() - 1));
    return place;
  }

  /// The last phase but one, merged with the last phase of the previous row if reciprocals suffice for it.
  void phaseWithPreviousRow(Reg row) {
    for (const EmittedRoot& r : roots_)
      if (r.phase == at_.phase && r.kind == Root::Kind::rowReduction) {
        const mlir::Value sum = s_.ops[r.op].op->getResult(0);
        values_.expectForLaterPhases(sum, rowMap(shapeOf(sum.getType())));
      }
    const NestPlace here = at_;
    at_.rows.pop_back();
    // The first row has no predecessor: row 0 stands in for it.
    Reg before = b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, row, l_.index(1));
    // All roots of the last phase have equally many columns (pipelineLastPhase).
    const ColumnLoop& last =
        *llvm::find_if(details_.loops, [&](const ColumnLoop& loop) { return loop.phase == here.phase + 1; });
    PreviousRow previous{&last, rootsOf(last), placeOf(before, last.phase)};
    at_ = previous.place;
    Reg useful = findReciprocals(last);
    if (!useful) return;
    previous.place = at_;
    Reg follows = b_.CreateICmpNE(row, l_.index(0));
    l_.ifElse(
        b_.CreateLogicalAnd(follows, useful),
        [&] {
          at_ = here;
          previousRow_ = previous;
          phase();
          previousRow_.reset();
        },
        [&] {
          if (!previous.place.reciprocals.empty())
            l_.when(follows, [&] {
              at_ = previous.place;
              at_.reciprocals.clear();
              columnLoop(*previous.loop);
            });
          at_ = here;
          phase();
        });
  }

  /// The current phase of one row.
  void phase() {
    applyOnce();
    for (const ColumnLoop& loop : details_.loops)
      if (loop.phase == at_.phase) dividedColumns(loop);
  }
  std::vector<EmittedRoot*> rootsOf(const ColumnLoop& loop) {
    std::vector<EmittedRoot*> roots;
    for (const size_t i : loop.roots) roots.push_back(&roots_[i]);
    return roots;
  }

  /// Rows divided by one value each are multiplied by its reciprocal; a second loop divides, for the few values
  /// whose reciprocal is not accurate enough.
  void dividedColumns(const ColumnLoop& planned) {
    Reg useful = findReciprocals(planned);
    if (!useful) return;
    if (at_.reciprocals.empty()) {
      columnLoop(planned);
      return;
    }
    const NestPlace multiplied = at_;
    at_.reciprocals.clear();
    const NestPlace divided = at_;
    const auto loop = [&](const NestPlace& place) {
      at_ = place;
      columnLoop(planned);
      at_ = divided;
    };
    l_.ifElse(useful, [&] { loop(multiplied); }, [&] { loop(divided); });
  }

  /// Registers reciprocals that replace divisions of rows, and returns whether they are accurate enough; null: there is
  /// no code for it.
  Reg findReciprocals(const ColumnLoop& loop) {
    Reg useful = b_.getTrue();
    for (const RowValue& d : loop.divisors) {
      Reg divisor = values_.eval(d.value, d.map, {l_.index(0), 1, nullptr});
      if (!divisor) return nullptr;
      useful = b_.CreateAnd(useful, emitIsReciprocalAccurate(b_, divisor));
      at_.reciprocals.push_back({d, b_.CreateFDiv(llvm::ConstantFP::get(divisor->getType(), 1.0), divisor)});
    }
    return useful;
  }

  /// Roots with one element per row: all are evaluated before one is written.
  void applyOnce() {
    const Chunk one{l_.index(0), 1, nullptr};
    at_.chunk.clear();
    std::vector<std::tuple<EmittedRoot*, Reg, Reg>> all;
    for (EmittedRoot& r : roots_) {
      if (r.phase != at_.phase || r.columns != 1) continue;
      Reg value = values_.eval(r.value, r.map, one);
      Reg mask = r.mask ? values_.eval(r.mask, r.map, one) : nullptr;
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

  void columnLoop(const ColumnLoop& loop) {
    const std::vector<EmittedRoot*> roots = rootsOf(loop);
    const int64_t columns = loop.columns;
    const int lanes = loop.lanes;
    // Several registers as one value, so that LLVM interleaves their code.
    const int wide = lanes * loop.vectors;
    const int64_t steps = columns / wide;
    for (EmittedRoot* r : roots)
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
    for (EmittedRoot* r : roots)
      if (r->kind != Root::Kind::write) {
        const auto kind = reductionKind(*s_.ops[r->op].op);
        const DType t = registerDType(*r);
        if (r->kind == Root::Kind::rowReduction || !r->targetMap.usesColumn(column_))
          finishReduction(*r, finishAccumulators(b_, kind, t, r->accumulators));
      }
  }

  void chunkLoop(const std::vector<EmittedRoot*>& roots, int64_t end, int lanes) {
    auto& context = b_.getContext();
    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto* body = llvm::BasicBlock::Create(context, "columns", l_.function);
    auto* after = llvm::BasicBlock::Create(context, "row.next", l_.function);
    b_.CreateBr(body);
    b_.SetInsertPoint(body);
    auto* start = b_.CreatePHI(b_.getInt64Ty(), 2, "column");
    start->addIncoming(l_.index(0), before);
    std::vector<llvm::PHINode*> phis;
    for (EmittedRoot* r : roots)
      for (Accumulator& accumulator : r->accumulators)
        for (Reg& part : accumulator) {
          auto* phi = b_.CreatePHI(part->getType(), 2);
          phi->addIncoming(part, before);
          part = phi;
          phis.push_back(phi);
        }
    values_.preheader = before;
    chunk(roots, {start, lanes, nullptr}, 0);
    values_.preheader = nullptr;
    Reg next = b_.CreateAdd(start, l_.index(lanes), "", true, true);
    llvm::BasicBlock* latch = b_.GetInsertBlock();
    start->addIncoming(next, latch);
    size_t at = 0;
    for (EmittedRoot* r : roots)
      for (Accumulator& accumulator : r->accumulators)
        for (Reg& part : accumulator) phis[at++]->addIncoming(part, latch);
    b_.CreateCondBr(b_.CreateICmpULT(next, l_.index(end)), body, after);
    b_.SetInsertPoint(after);
    if (latch == body) overlap(roots, {start->getIncomingBlock(0), body, after, start, end, lanes});
  }

  void overlap(const std::vector<EmittedRoot*>& roots, const OneBlockLoop& loop) {
    llvm::SmallVector<Reg, 8> sums;
    for (EmittedRoot* r : roots)
      for (Accumulator& accumulator : r->accumulators) sums.append(accumulator.begin(), accumulator.end());
    const llvm::SmallVector<Reg, 8> now = moduloSchedule(loop, l_.processor, sums);
    if (now.empty()) return;
    size_t at = 0;
    for (EmittedRoot* r : roots)
      for (Accumulator& accumulator : r->accumulators)
        for (Reg& part : accumulator) part = now[at++];
  }

  /// Everything is evaluated before anything is written. `part`: of the accumulators.
  void chunk(const std::vector<EmittedRoot*>& roots, const Chunk& columns, size_t part) {
    const auto all = evaluated(roots, columns);
    const bool pipelined = previousRow_ && previousRow_->roots.front()->columns == roots.front()->columns;
    std::optional<std::vector<Evaluated>> previous;
    if (pipelined) atPreviousRow([&] { previous = evaluated(previousRow_->roots, columns); });
    if (!all || (pipelined && !previous)) return;
    for (const Evaluated& e : *all) apply(*e.root, e.value, e.chosen, columns, part);
    if (pipelined)
      atPreviousRow([&] {
        for (const Evaluated& e : *previous) write(*e.root, e.value, e.chosen, columns);
      });
    if (at_.phase == schedule::RowSchedule::kPrefetchingPhase || pipelined) values_.prefetchRowsAhead(columns);
  }

  /// With the pipelined phase's row as the current one.
  void atPreviousRow(llvm::function_ref<void()> body) {
    std::swap(at_, previousRow_->place);
    body();
    std::swap(at_, previousRow_->place);
  }

  struct Evaluated {
    EmittedRoot* root;
    Reg value, chosen;
  };
  std::optional<std::vector<Evaluated>> evaluated(const std::vector<EmittedRoot*>& roots, const Chunk& columns) {
    std::vector<Evaluated> all;
    at_.chunk.clear();
    for (EmittedRoot* r : roots) {
      Reg value = values_.eval(r->value, r->map, columns);
      Reg chosen = r->mask ? values_.eval(r->mask, r->map, columns) : nullptr;
      if (!value || (r->mask && !chosen)) return std::nullopt;
      all.push_back({r, NestValues::splatTo(b_, value, columns.lanes),
                     chosen ? NestValues::splatTo(b_, chosen, columns.lanes) : nullptr});
    }
    return all;
  }

  void apply(EmittedRoot& r, Reg value, Reg chosen, const Chunk& chunk, size_t part) {
    if (r.kind == Root::Kind::write) {
      write(r, value, chosen, chunk);
      return;
    }
    const auto kind = reductionKind(*s_.ops[r.op].op);
    const DType t = registerDType(r);
    if (r.kind == Root::Kind::accumulation && r.targetMap.usesColumn(column_)) {
      Reg old = values_.loadFrom(r.target, r.targetMap, chunk);
      storeChunk(l_, values_.elements(r.target, r.targetMap, chunk), combine(b_, kind, t, old, value), chunk,
                 chunk.mask);
      return;
    }
    if (chunk.mask) value = b_.CreateSelect(chunk.mask, value, splat(b_, identityOf(b_, kind, t), chunk.lanes));
    accumulate(b_, kind, t, r.accumulators[part], value);
  }

  DType registerDType(const EmittedRoot& r) const { return elementDType(r.value.getType()); }

  /// Finishes the reduction of one row: combines it with the initial value and rounds it.
  void finishReduction(EmittedRoot& r, Reg reduced) {
    mlir::Operation& op = *s_.ops[r.op].op;
    const auto kind = reductionKind(op);
    const DType t = registerDType(r);
    const Chunk one{l_.index(0), 1, nullptr};
    if (r.kind == Root::Kind::accumulation) {
      Reg old = values_.loadFrom(r.target, r.targetMap, one);
      storeChunk(l_, values_.elements(r.target, r.targetMap, one), combine(b_, kind, t, old, reduced), one, nullptr);
      return;
    }
    const mlir::Value result = op.getResult(0);
    const ElementMap map = rowMap(shapeOf(result.getType()));
    Reg start = values_.eval(op.getOperand(1), map, one);
    if (!start) return;
    Reg rounded = roundTo(b_, t, combine(b_, kind, t, start, reduced));
    at_.row.add(result, map, rounded);
    values_.keepForLaterPhases(result, map, rounded);
  }

  Reg accumulatorStart(const EmittedRoot& r) { return splatConstant(b_, s_.ops[r.op].op->getOperand(1)); }

  void write(EmittedRoot& r, Reg value, Reg chosen, const Chunk& chunk) {
    Reg mask = chunk.mask;
    if (chosen) mask = mask ? b_.CreateAnd(mask, chosen) : chosen;
    if (r.adds) {
      Reg old = values_.loadFrom(r.target, r.targetMap, chunk, r.prefetchesTarget);
      const DType t = r.target.dtype;
      value = old->getType()->isFPOrFPVectorTy() ? roundTo(b_, t, b_.CreateFAdd(old, value)) : b_.CreateAdd(old, value);
    }
    storeChunk(l_, values_.elements(r.target, r.targetMap, chunk), value, chunk, mask);
  }

  NativeLowering& l_;
  Builder& b_;
  const Segment& s_;
  const Nest& nest_;
  const NestPlan& plan_;
  const NestDetails& details_;
  std::vector<View> buffers_;
  std::vector<EmittedRoot> roots_;
  std::optional<RowBounds> bounds_;  ///< of the outermost row loop; nullopt: all rows
  const int column_ = plan_.column;
  NestValues values_{l_, s_, plan_, details_, buffers_};
  NestPlace& at_ = values_.at;
  std::optional<PreviousRow> previousRow_;  ///< computed together with the current columns
};

}  // namespace

NativeResult emitNest(NativeLowering& lowering, const Segment& segment, const Nest& nest, const NestDetails& details) {
  std::vector<mlir::Operation*> ops;
  for (const size_t i : nest.ops) ops.push_back(segment.ops[i].op);
  const MeasuredCode part(lowering, std::move(ops));
  return NestEmitter(lowering, segment, nest, details).run();
}

}  // namespace smalti::cpu
