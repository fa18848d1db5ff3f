// How loop nests take their rows.
#include "cpu/plan/NestHeuristics.h"

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

TEST(NestHeuristics, RowsOfABlockStayInTheFirstCache) {
  const Processor p = withL1(32);
  EXPECT_EQ(chooseRowBlock(twoPhases(64, 256), p), 6) << "three quarters of the 8 rows of four arrays that fit";
  EXPECT_EQ(chooseRowBlock(twoPhases(64, 32), p), 16) << "at most";
  EXPECT_EQ(chooseRowBlock(twoPhases(5, 32), p), 5) << "there are no more";
  EXPECT_EQ(chooseRowBlock(twoPhases(64, 1024), p), 2) << "two fit: both";
  EXPECT_EQ(chooseRowBlock(twoPhases(64, 4096), p), 1);
}

TEST(NestHeuristics, RowsOfMemoryAreFew) {
  NestFacts nest = twoPhases(64, 256);
  nest.touchesMemory = true;
  EXPECT_EQ(chooseRowBlock(nest, withL1(48)), 4);
  nest.roots[0].columns = 4096;
  EXPECT_EQ(chooseRowBlock(nest, withL1(48)), 1);
}

TEST(NestHeuristics, OnePhaseNeedsNoBlock) {
  NestFacts nest = twoPhases(64, 32);
  nest.phases = 1;
  EXPECT_EQ(chooseRowBlock(nest, withL1(32)), 1);
  nest = twoPhases(64, 32);
  nest.isFlattened = true;
  EXPECT_EQ(chooseRowBlock(nest, withL1(32)), 1);
}

TEST(NestHeuristics, AStorePastTheCachesRunsBesideALongComputation) {
  NestFacts nest = twoPhases(64, 4096);
  const auto costs = [](int64_t cost) { return [=](size_t) { return cost; }; };
  EXPECT_FALSE(worthPipelining(nest, 1, costs(100))) << "the last phase stores to the caches";
  nest.roots[1].isNonTemporal = true;
  EXPECT_EQ(worthPipelining(nest, 1, costs(kExpensiveInstructions)), true);
  EXPECT_EQ(worthPipelining(nest, 1, costs(kExpensiveInstructions - 1)), false);
  EXPECT_FALSE(worthPipelining(nest, 2, costs(100))) << "rows come in blocks";
  nest.innermostRows = 3;
  EXPECT_FALSE(worthPipelining(nest, 1, costs(100))) << "too few rows";
  nest.innermostRows = 64;
  nest.roots[0].columns = 2048;
  EXPECT_FALSE(worthPipelining(nest, 1, costs(100))) << "the phases do not walk the same columns";
}

TEST(NestHeuristics, PrefetchedRowsWaitWhereThereIsRoom) {
  NestFacts nest = twoPhases(64, 1024);
  EXPECT_EQ(planPrefetch(nest, 2, false, withL1(48)), (NestPrefetch{2})) << "nothing comes from memory";
  nest.readsOfMemory = 1;
  EXPECT_EQ(planPrefetch(nest, 1, false, withL1(48)), (NestPrefetch{4, CacheLevel::first}));
  EXPECT_EQ(planPrefetch(nest, 1, false, withL1(32)), (NestPrefetch{4, CacheLevel::second}));
  EXPECT_EQ(planPrefetch(nest, 1, true, withL1(32)), (NestPrefetch{1, CacheLevel::first})) << "just the next row";
  nest.readsOfMemory = 2;
  EXPECT_EQ(planPrefetch(nest, 1, false, withL1(48)), (NestPrefetch{2, CacheLevel::first}));
}

}  // namespace
}  // namespace smalti::cpu
