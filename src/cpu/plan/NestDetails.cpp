// The parts of a nest's plan that depend on the scalars and memory around it: rows that masks leave out, rows that are
// read in place, reciprocals of divisors, how many columns an iteration computes, and memory that is prefetched.
#include <algorithm>

#include "base/Arithmetic.h"
#include "cpu/plan/BodyPlanner.h"
#include "cpu/plan/NestHeuristics.h"
#include "eval/Reduce.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"

namespace smalti::cpu {

using schedule::Buffer;
using schedule::Nest;
using schedule::NestPlan;
using schedule::Root;
using schedule::ScheduledOp;
using schedule::Segment;

std::optional<RowGroups> BodyPlanner::neededRows(llvm::ArrayRef<mlir::Value> values, int64_t rows) const {
  std::optional<RowGroups> range;
  for (const mlir::Value v : values) {
    const auto needed = neededRowGroups(v);
    if (!needed || (range && *range != *needed)) return std::nullopt;
    range = needed;
  }
  if (!range || rows % range->groups != 0 || !canHoist(range->begin) || !canHoist(range->end)) return std::nullopt;
  return range;
}

std::optional<RowGroups> BodyPlanner::neededRowsOf(const Segment& segment, const Nest& nest) const {
  const NestPlan& plan = nest.plan;
  if (plan.flattened || nest.rows.empty() || plan.rows.pipelinesLastPhase) return std::nullopt;
  llvm::SmallVector<mlir::Value, 8> made;
  for (const Root& r : plan.roots) {
    if (r.kind == Root::Kind::accumulation) return std::nullopt;
    made.push_back(r.kind == Root::Kind::rowReduction ? segment.ops[r.op].op->getResult(0) : r.value);
  }
  return neededRows(made, nest.rows.front());
}

std::optional<MaskedLoads> BodyPlanner::maskedLoadsOf(const Segment& segment, const Nest& nest,
                                                      const std::vector<MemoryView>& buffers) const {
  const NestPlan& plan = nest.plan;
  if (plan.flattened || nest.rows.size() != 1 || plan.roots.size() != plan.buffers.size()) return std::nullopt;
  MaskedLoads made{{}, std::vector<mlir::Operation*>(plan.buffers.size())};
  for (const Root& r : plan.roots) {
    const auto rows = r.kind == Root::Kind::write && r.buffer && plan.buffers[*r.buffer].value == r.value
                          ? loadedRows(r.value)
                          : std::nullopt;
    if (!rows || rows->rows != nest.rows[0] || (made.count && made.count != rows->count)) return std::nullopt;
    const ScheduledOp* load = segment.find(rows->load->getResult(0));
    if (!load || !load->isLoad()) return std::nullopt;
    made.count = rows->count;
    const MemoryView &from = boxOf(rows->load), &to = buffers[*r.buffer];
    if (from.dtype != to.dtype || from.shape != to.shape || from.dynamic() || from.extendsPast() ||
        from.strides.back() != 1)
      return std::nullopt;
    made.loads[*r.buffer] = rows->load;
  }
  return made.count && canHoist(made.count) ? std::optional(std::move(made)) : std::nullopt;
}

NestDetails BodyPlanner::detailsOf(const Segment& segment, const Nest& nest) {
  const NestPlan& plan = nest.plan;
  if (plan.roots.empty()) return {};
  std::vector<MemoryView> buffers;
  for (const Buffer& b : plan.buffers) {
    buffers.push_back(allocate(b.dtype, b.shape));
    if (b.reuses) buffers.back().owner = findView(b.reuses)->owner;
  }
  NestDetails details{.neededRows = neededRowsOf(segment, nest), .loops = columnLoops(segment, plan)};
  if (!details.neededRows) details.maskedLoads = maskedLoadsOf(segment, nest, buffers);
  choosePrefetched(segment, plan, details);
  details.sharedRows = sharedRowsOf(nest);
  if (plan.rows.bufferedRows() > 1)
    for (const ScheduledOp& p : segment.ops)
      if (isWorthKeepingPerRow(*p.op)) details.keptRowValues.insert(p.op->getResult(0));
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (!plan.buffers[i].value) continue;
    if (details.maskedLoads) {  // the value is in either memory
      MemoryView& either = buffers[i] = newMemory(std::move(buffers[i]));
      for (size_t d = 0; d + 1 < either.strides.size(); ++d) either.strides[d] = std::nullopt;
    }
    setView(plan.buffers[i].value, std::move(buffers[i]));
  }
  return details;
}

/// Rows of the outermost loop are independent if each writes memory of its own: no row reads what another one writes
/// (schedule::planSegment). Buffers of the nest that hold some rows at a time are then memory of each thread.
int64_t BodyPlanner::sharedRowsOf(const Nest& nest) const {
  // Instructions from which sharing pays: some 10 microseconds of one core. Chosen, not measured.
  constexpr int64_t kWorthSharing = int64_t{1} << 15;
  // The most bytes of a buffer on a thread's stack.
  constexpr int64_t kMostBufferBytes = 32 << 10;
  // Groups of rows per thread, so that a thread that starts late takes fewer.
  constexpr int64_t kGroupsPerThread = 8;
  const NestPlan& plan = nest.plan;
  if (stepThreads < 2 || plan.flattened || nest.rows.empty() || nest.rows.front() < 2 || plan.rows.pipelinesLastPhase)
    return 0;
  int64_t instructions = 0;
  for (const Root& r : plan.roots) {
    const bool isOwn = r.kind == Root::Kind::write && r.buffer && !plan.buffers[*r.buffer].value;
    const bool writesRow = llvm::any_of(r.targetMap.entries, [](const schedule::MapEntry& e) { return e.loop == 0; });
    if (r.kind == Root::Kind::accumulation || (r.kind == Root::Kind::write && !isOwn && !writesRow)) return 0;
    instructions += ceilDiv(r.columns, processor.lanes(4)) * r.cost;
  }
  for (const Buffer& b : plan.buffers)
    if (!b.value && num_elements(b.shape) * storage_bytes(b.dtype) > kMostBufferBytes) return 0;
  if (instructions * num_elements(nest.rows) < kWorthSharing) return 0;
  return roundUp(ceilDiv(nest.rows.front(), kGroupsPerThread * stepThreads), plan.rows.rowBlock);
}

void BodyPlanner::choosePrefetched(const Segment& segment, const NestPlan& plan, NestDetails& details) const {
  // Later phases issue the prefetches: the first one itself waits for memory.
  if (plan.phases() == 1) return;
  const auto isOutsideL1 = [&](const MemoryView& view) {
    return view.isInDram ||
           (view.memory != MemoryView::kValue && view.elements() * storage_bytes(view.dtype) >= processor.l1Bytes / 2);
  };
  const auto choose = [&](mlir::Value v) {
    if (const MemoryView* view = v ? findView(v) : nullptr; view && isOutsideL1(*view)) details.prefetched.insert(v);
  };
  for (const ScheduledOp& p : segment.ops) {
    if (p.isLoad() && isOutsideL1(boxOf(p.op))) details.prefetched.insert(p.op->getResult(0));
    for (const mlir::Value operand : p.op->getOperands()) choose(operand);
  }
  for (size_t i = 0; i < plan.roots.size(); ++i) {
    const Root& root = plan.roots[i];
    choose(root.value);
    choose(root.mask);
    if (root.adds && !root.buffer && isOutsideL1(boxOf(segment.ops[root.op].op))) details.prefetchedTargets.insert(i);
  }
}

/// The roots of one phase with equally many columns are computed together.
std::vector<ColumnLoop> BodyPlanner::columnLoops(const Segment& segment, const NestPlan& plan) const {
  // Rows divided by a value are multiplied by its reciprocal from this number of columns on, so that the test for
  // accuracy costs little. Chosen, not measured.
  constexpr int64_t kReciprocalColumns = 128;
  const int last = plan.phases() - 1;
  const auto isMade = [&](mlir::Value v) {
    const auto kept = plan.rowBuffers.find(v);
    return (kept != plan.rowBuffers.end() && kept->second.phase < last) || findView(v);
  };
  const auto isNonTemporal = [&](const Root& r) {
    return r.kind == Root::Kind::write && !r.buffer && segment.ops[r.op].access->isNonTemporal;
  };
  const auto adds = [&](const Root& r) {
    return r.kind == Root::Kind::rowReduction &&
           eval::reduceKindFromName(keywordAttribute(*segment.ops[r.op].op, "kind")) == eval::ReduceKind::add;
  };
  std::vector<ColumnLoop> loops;
  for (size_t i = 0; i < plan.roots.size(); ++i) {
    const Root& root = plan.roots[i];
    if (root.columns == 1) continue;
    const auto isSame = [&](const ColumnLoop& l) { return l.phase == root.phase && l.columns == root.columns; };
    if (const auto known = llvm::find_if(loops, isSame); known != loops.end())
      known->roots.push_back(i);
    else
      loops.push_back({root.phase, root.columns, {i}});
  }
  for (ColumnLoop& loop : loops) {
    ColumnLoopFacts facts{
        .columns = loop.columns, .streams = plan.rows.pipelinesLastPhase && loop.phase + 1 == last, .onlyAdds = true};
    bool onlyWrites = true;
    for (const size_t i : loop.roots) {
      const Root& r = plan.roots[i];
      facts.cost += r.cost;
      facts.streams |= isNonTemporal(r);
      facts.onlyAdds &= adds(r);
      onlyWrites &= r.kind == Root::Kind::write;
    }
    loop.lanes = columnLanes(loop.columns, processor);
    loop.vectors = vectorsPerIteration(facts, processor);
    // Only in the last phase: no later phase may depend on values that just one of two loops computes.
    if (loop.phase != last || loop.columns < kReciprocalColumns || !onlyWrites) continue;
    for (const size_t i : loop.roots)
      findRowDivisors(segment, plan.roots[i].value, plan.roots[i].map, plan.column, isMade, loop.divisors);
  }
  return loops;
}

}  // namespace smalti::cpu
