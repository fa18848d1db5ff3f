// S-A: the order of programs, empty and dynamic grids.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "../runtime/TextKernel.h"
#include "machine/pipeline/Grid.h"

namespace smalti::machine::testing {
namespace {

std::vector<std::vector<int32_t>> walk(GridWalk w) {
  std::vector<std::vector<int32_t>> steps;
  for (; !w.done(); w.next()) steps.emplace_back(w.step().begin(), w.step().end());
  return steps;
}
using Steps = std::vector<std::vector<int32_t>>;

TEST(Grid, SA1_LastAxisIsFastest) {
  EXPECT_EQ(walk(GridWalk({2, 3})), (Steps{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
}

TEST(Grid, SA1_WhatAProgramWroteIsVisibleToTheNext) {
  TextKernel k({2, 3});
  const Val out = k.output({.dtype = "i32", .array = {2, 3}, .block = {1, 1}, .map = "%i, %j", .space = "smem"});
  const Val counter = k.scratch("i32", {1}, "smem");
  const Val first = k.compare("eq", k.binary("arith.addi", k.id(0), k.id(1)), k.constant(0));
  k.when(first, [&] { k.scalarStore(k.constant(0), counter, {}); });
  const Val n = k.scalarLoad(counter, {});
  k.scalarStore(n, out, {});
  k.scalarStore(k.binary("arith.addi", n, k.constant(1)), counter, {});
  EXPECT_EQ(ints(results(k, {})[0]), (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Grid, SA2_EmptyGridRunsOnceAZeroBoundNever) {
  EXPECT_EQ(walk(GridWalk(std::vector<int64_t>{})).size(), 1u);
  EXPECT_TRUE(GridWalk({3, 0}).done());
  TextKernel k({0});
  const Val out = k.output({.array = {8, 128}, .block = {8, 128}, .map = "%c0, %c0"});
  k.store(k.splat(k.f32(1), {8, 128}), out);
  auto r = runOn(k, {{}});
  ASSERT_TRUE(r) << r.error().str();
  EXPECT_EQ(r->statistics.gridSteps, 0);
  EXPECT_TRUE(std::isnan(floats(r->results[0][0])[0]));
}

/// out[i] = num_programs * 10 + program_id, over a grid with a dynamic bound.
TextKernel dynamicKernel() {
  TextKernel k({kDynamicBound});
  const Val out = k.output({.dtype = "i32", .array = {4}, .block = {1}, .map = "%i", .space = "smem"});
  k.scalarStore(k.binary("arith.addi", k.binary("arith.muli", k.iterationBound(0), k.constant(10)), k.id(0)), out, {});
  return k;
}

TEST(Grid, SA3_ProgramIdIsI32AndNumProgramsFollowsTheDynamicBound) {
  EXPECT_EQ(ints(results(dynamicKernel(), {i32Scalar(4)})[0]), (std::vector<int32_t>{40, 41, 42, 43}));
}

TEST(Grid, SA4_DynamicBoundsAreLeadingOperandsAndCountInAliases) {
  TextKernel k({kDynamicBound});
  const Val in = k.input({.array = {4, 8, 128}, .block = {1, 8, 128}, .map = "%i, %c0, %c0"});
  const Val out = k.output({.array = {4, 8, 128}, .block = {1, 8, 128}, .map = "%i, %c0, %c0"});
  k.store(k.binary("arith.addf", k.load(in), k.splat(k.f32(1), {1, 8, 128})), out);
  k.alias(1, 0);
  const Array x = f32Array({4, 8, 128}, [](int64_t i) { return static_cast<float>(i); });
  const auto out0 = floats(results(k, {i32Scalar(2), x})[0]);
  EXPECT_EQ(out0[1024], 1025.f);
  EXPECT_EQ(out0[2 * 1024], 2 * 1024.f) << "blocks that no step visits keep the aliased input's content";
  EXPECT_EQ(floats(x)[0], 0.f) << "the caller's array is not changed";
}

TEST(Grid, SA5_HugeDynamicBoundsDoNotOverflowIntoEachOther) {
  TextKernel k({kDynamicBound, kDynamicBound, kDynamicBound});
  k.output({.dtype = "i32", .array = {1}, .block = {1}, .map = "%c0", .space = "smem"});
  MachineOptions options;
  options.stepLimit = 50'000;
  options.stepQuantum = 1'000;
  const Array big = i32Scalar(INT32_MAX);
  auto r = runOn(k, {{big, big, big}}, options);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, "SM4104") << r.error().str();
  GridWalk w({INT32_MAX, INT32_MAX, 2});
  w.next();
  w.next();
  EXPECT_EQ(std::vector<int32_t>(w.step().begin(), w.step().end()), (std::vector<int32_t>{0, 1, 0}));
}

TEST(Grid, SH2_SharesOfTheCoresCoverTheGridOnce) {
  const std::vector<std::vector<int64_t>> grids{{2, 3, 2}, {5, 4}, {1, 7, 1}, {3}, {0, 2}};
  for (const auto& grid : grids)
    for (uint64_t shared = 1; shared < uint64_t{1} << grid.size(); ++shared)
      for (int cores : {2, 3, 4}) {
        Steps all;
        for (int core = 0; core < cores; ++core) {
          const Steps mine = walk(GridWalk(grid, shared, core, cores));
          EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
          all.insert(all.end(), mine.begin(), mine.end());
        }
        std::sort(all.begin(), all.end());
        EXPECT_EQ(all, walk(GridWalk(grid)));
      }
}

TEST(Grid, SH2_EverySharedDimensionIsDivided) {
  // Along each of them, whatever the others are, two neighbours are of two cores.
  const std::vector<int64_t> grid{4, 2, 3};
  for (uint64_t shared = 1; shared < 8; ++shared) {
    std::map<std::vector<int32_t>, int> coreOf;
    for (int core = 0; core < 2; ++core)
      for (auto& step : walk(GridWalk(grid, shared, core, 2))) coreOf[step] = core;
    for (size_t d = 0; d < 3; ++d)
      for (auto& [step, core] : coreOf) {
        if (step[d] != 0) continue;
        bool divided = false;
        for (auto other = step; other[d] < grid[d]; ++other[d]) divided |= coreOf.at(other) != core;
        EXPECT_EQ(divided, (shared >> d & 1) != 0) << d;
      }
  }
}

TEST(Grid, SH6_ASingleDimensionIsDividedIntoConsecutivePoints) {
  EXPECT_EQ(walk(GridWalk({5}, 1, 0, 2)), (Steps{{0}, {1}, {2}}));
  EXPECT_EQ(walk(GridWalk({5}, 1, 1, 2)), (Steps{{3}, {4}}));
  EXPECT_EQ(walk(GridWalk({2, 4}, 2, 1, 2)), (Steps{{0, 2}, {0, 3}, {1, 2}, {1, 3}}));
}

TEST(Grid, SH7_AFixedDimensionIsNotWalked) {
  EXPECT_EQ(walk(GridWalk::fixed({2, 2, 2}, 1, 1)), (Steps{{0, 1, 0}, {0, 1, 1}, {1, 1, 0}, {1, 1, 1}}));
}

}  // namespace
}  // namespace smalti::machine::testing
