// How loop nests divide their rows into blocks, pipeline and prefetch them.
#include "cpu/plan/NestHeuristics.h"

#include "schedule/NestPlan.h"

#include <gtest/gtest.h>

namespace smalti::cpu {
namespace {

Processor withL1(int64_t kib) {
  Processor p;
  p.l1Bytes = kib << 10;
  return p;
}

/// A row's reduction, then a store of the row: softmax's shape.
NestFacts twoPhases(int64_t rows, int64_t columns) {
  return {.phases = 2,
          .innermostRows = rows,
          .roots = {{.phase = 0, .columns = columns, .isWrite = false}, {.phase = 1, .columns = columns}}};
}

const RootCost kCheap = [](size_t) { return 1; };
int64_t rowBlock(const NestFacts& nest, const Processor& p) { return blockRows({}, nest, kCheap, p).rowBlock; }

TEST(NestHeuristics, ARowBlockFitsL1) {
  const Processor p = withL1(32);
  EXPECT_EQ(rowBlock(twoPhases(64, 256), p), 6) << "three quarters of the 8 rows of four arrays that fit";
  EXPECT_EQ(rowBlock(twoPhases(64, 32), p), 16) << "at most";
  EXPECT_EQ(rowBlock(twoPhases(5, 32), p), 5) << "there are no more";
  EXPECT_EQ(rowBlock(twoPhases(64, 1024), p), 2) << "two fit: both";
  EXPECT_EQ(rowBlock(twoPhases(64, 4096), p), 1);
}

TEST(NestHeuristics, RowBlocksFromDramAreSmall) {
  NestFacts nest = twoPhases(64, 256);
  nest.accessesDram = true;
  EXPECT_EQ(rowBlock(nest, withL1(48)), 4);
  nest.roots[0].columns = 4096;
  EXPECT_EQ(rowBlock(nest, withL1(48)), 1);
}

TEST(NestHeuristics, OnePhaseNeedsNoBlock) {
  NestFacts nest = twoPhases(64, 32);
  nest.phases = 1;
  EXPECT_EQ(rowBlock(nest, withL1(32)), 1);
  nest = twoPhases(64, 32);
  nest.isFlattened = true;
  EXPECT_EQ(rowBlock(nest, withL1(32)), 1);
}

TEST(NestHeuristics, ANonTemporalStoreRunsTogetherWithALongComputation) {
  NestFacts nest = twoPhases(64, 4096);
  const auto pipelines = [&](int64_t cost, RowSchedule rows = {}) {
    return pipelineLastPhase(rows, nest, [=](size_t) { return cost; }, withL1(32)).pipelinesLastPhase;
  };
  EXPECT_FALSE(pipelines(100)) << "the last phase stores to the caches";
  nest.roots[1].isNonTemporal = true;
  EXPECT_TRUE(pipelines(schedule::kExpensiveInstructions));
  EXPECT_FALSE(pipelines(schedule::kExpensiveInstructions - 1));
  EXPECT_FALSE(pipelines(100, {.rowBlock = 2})) << "rows come in blocks";
  nest.innermostRows = 3;
  EXPECT_FALSE(pipelines(100)) << "too few rows";
  nest.innermostRows = 64;
  nest.roots[0].columns = 2048;
  EXPECT_FALSE(pipelines(100)) << "the phases do not walk the same columns";
}

TEST(NestHeuristics, RowsArePrefetchedIntoTheLevelThatHasRoom) {
  NestFacts nest = twoPhases(64, 1024);
  const auto prefetch = [&](int64_t kib, RowSchedule rows = {}) {
    const RowSchedule chosen = prefetchRows(rows, nest, kCheap, withL1(kib));
    return std::pair(chosen.prefetchRows, chosen.prefetchLevel);
  };
  EXPECT_EQ(prefetch(48, {.rowBlock = 2}), std::pair(int64_t{2}, 1)) << "nothing is read from DRAM";
  nest.dramReads = 1;
  EXPECT_EQ(prefetch(48), std::pair(int64_t{4}, 1));
  EXPECT_EQ(prefetch(32), std::pair(int64_t{4}, 2));
  EXPECT_EQ(prefetch(32, {.pipelinesLastPhase = true}), std::pair(int64_t{1}, 1)) << "just the next row";
  nest.dramReads = 2;
  EXPECT_EQ(prefetch(48), std::pair(int64_t{2}, 1));
}

TEST(NestHeuristics, EachChoiceSeesTheOnesBefore) {
  NestFacts nest = twoPhases(64, 4096);
  nest.accessesDram = true;
  nest.dramReads = 1;
  nest.roots[1].isNonTemporal = true;
  const RootCost costs = [](size_t) { return int64_t{100}; };
  EXPECT_EQ(scheduleRows(nest, costs, withL1(32)),
            (RowSchedule{.rowBlock = 1, .pipelinesLastPhase = true, .prefetchRows = 1, .prefetchLevel = 2}))
      << "a row is larger than an eighth of L1";
}

}  // namespace
}  // namespace smalti::cpu
