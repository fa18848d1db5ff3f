#include "cpu/plan/NestHeuristics.h"

#include <algorithm>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "schedule/NestPlan.h"

namespace smalti::cpu {
namespace {

// Fitted with `./do bench cpu` on the processor that docs/performance.md names.

constexpr int64_t kElementBytes = sizeof(float);  // elements are computed as f32

/// Largest number of rows in a block.
constexpr int64_t kMaxRows = 16;
/// Smallest number of rows worth blocking even if they leave L1 little room.
constexpr int64_t kMinRowBlock = 2;
/// Elements of a block that is read from DRAM: few, so that memory is busy all the time.
constexpr int64_t kElementsFromDram = 1024;
/// Arrays whose rows share L1: the current input, the prefetched input, buffered values, and the output.
constexpr int64_t kArrays = 4;

/// Smallest number of rows for which pipelining pays.
constexpr int64_t kMinPipelinedRows = 4;

/// How many elements ahead memory is prefetched into a large L1.
constexpr int64_t kElementsAhead = 4096;
/// Size of an L1 that has room for them, in bytes.
constexpr int64_t kLargeL1Bytes = 48 << 10;

/// Instructions per column up to which an iteration computes four, or two, vectors.
constexpr int64_t kMaxCostForFour = 48, kMaxCostForTwo = 96;
/// Sums of rows are latency-bound up to this number of instructions per column: eight vectors, if registers suffice.
constexpr int64_t kFewInstructions = 8;
constexpr int kManyRegisters = 32;

}  // namespace

RowSchedule blockRows(RowSchedule rows, const NestFacts& nest, const RootCost&, const Processor& p) {
  if (nest.isFlattened || nest.phases == 1 || nest.innermostRows == 0) return rows;
  int64_t fit = 0;
  if (nest.accessesDram) {
    fit = kElementsFromDram / nest.mostColumns();
  } else {
    const int64_t most = p.l1Bytes / (kArrays * nest.mostColumns() * kElementBytes);
    fit = std::max(most * 3 / 4, std::min(most, kMinRowBlock));
  }
  rows.rowBlock = std::clamp<int64_t>(fit, 1, std::min(kMaxRows, nest.innermostRows));
  return rows;
}

RowSchedule pipelineLastPhase(RowSchedule rows, const NestFacts& nest, const RootCost& costOf, const Processor&) {
  const int last = nest.phases - 1;
  if (nest.isFlattened || rows.rowBlock > 1 || last == 0 || nest.innermostRows < kMinPipelinedRows) return rows;
  int64_t columns = 1, cost = 0;
  for (size_t i = 0; i < nest.roots.size(); ++i) {
    const schedule::RootFacts& r = nest.roots[i];
    if (r.phase == last && (!r.isWrite || r.adds || !r.isNonTemporal || r.columns == 1)) return rows;
    if (r.phase + 1 < last || r.columns == 1) continue;
    if (columns != 1 && r.columns != columns) return rows;
    columns = r.columns;
    if (r.phase < last) cost = std::max(cost, costOf(i));
  }
  rows.pipelinesLastPhase = cost >= schedule::kExpensiveInstructions;
  return rows;
}

RowSchedule prefetchRows(RowSchedule rows, const NestFacts& nest, const RootCost&, const Processor& p) {
  rows.prefetchRows = rows.rowBlock;
  if (nest.dramReads == 0) return rows;
  const int64_t elements = nest.mostColumns() * nest.dramReads, rowBytes = elements * kElementBytes;
  rows.prefetchRows = std::max(kElementsAhead / elements, rows.rowBlock);
  if (p.l1Bytes >= kLargeL1Bytes) return rows;
  const bool streams = rows.pipelinesLastPhase || std::ranges::any_of(nest.roots, [](const schedule::RootFacts& r) {
                         return r.phase == RowSchedule::kPrefetchingPhase && r.isNonTemporal;
                       });
  if (const int64_t fit = p.l1Bytes / 8 / rowBytes; streams && fit > 0)
    rows.prefetchRows = std::max(fit, rows.rowBlock);
  else
    rows.prefetchLevel = 2;
  return rows;
}

RowSchedule scheduleRows(const NestFacts& nest, const RootCost& cost, const Processor& processor) {
  RowSchedule rows;
  for (const auto choose : {&blockRows, &pipelineLastPhase, &prefetchRows}) rows = choose(rows, nest, cost, processor);
  return rows;
}

bool isWorthKeepingPerRow(mlir::Operation& op) {
  return op.getName().getDialectNamespace() == "math" || llvm::isa<mlir::arith::DivFOp>(op);
}

int columnLanes(int64_t columns, const Processor& p) {
  int lanes = p.lanes(sizeof(float));
  while (lanes > 1 && lanes / 2 >= columns) lanes /= 2;
  return lanes;
}

int vectorsPerIteration(const ColumnLoopFacts& loop, const Processor& p) {
  const int lanes = columnLanes(loop.columns, p);
  // Data from DRAM goes line by line, so that its loads and stores alternate; the same if the previous row may be
  // pipelined, even when it is not: sums are taken in the same order for all rows.
  int vectors = loop.streams ? 1 : loop.cost <= kMaxCostForFour ? 4 : loop.cost <= kMaxCostForTwo ? 2 : 1;
  // Only sums: each depends on the previous one.
  if (loop.cost <= kFewInstructions && p.vectorRegisters >= kManyRegisters && loop.columns >= 16 * lanes &&
      loop.onlyAdds)
    vectors = 8;
  while (vectors > 1 && loop.columns < int64_t{vectors} * lanes) vectors /= 2;
  return vectors;
}

}  // namespace smalti::cpu
