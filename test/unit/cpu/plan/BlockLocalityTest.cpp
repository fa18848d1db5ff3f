// How caches are used for a grid's blocks, asked of the plan.
#include "cpu/plan/BlockLocality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../native/SmallProducts.h"
#include "Blocks.h"

namespace smalti::cpu {
namespace {

using machine::testing::TextKernel;
using machine::testing::Val;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::multiplied;
using ::testing::Optional;
using testing::part;

std::vector<BlockLocality> localityOf(const TextKernel& k, bool streams = true) {
  const auto grid = planGrid(k.package(), {});
  EXPECT_TRUE(grid.has_value());
  return planLocality(k.package(), *grid, *processorNamed("x86_64-unknown-linux-gnu/znver5"), streams);
}

/// o = x, in blocks of eight rows.
TextKernel copyOfRows(int64_t rows) {
  TextKernel k({rows / 8}, "arbitrary");
  const Val from = k.input(part({rows, 1024}, {8, 1024})), to = k.output(part({rows, 1024}, {8, 1024}));
  k.store(k.load(from), to);
  return k;
}

TEST(BlockLocality, LargeArraysAreInDram) {
  const TextKernel k = copyOfRows(16384);
  EXPECT_TRUE(localityOf(k)[0].isInDram);
  EXPECT_TRUE(localityOf(k)[1].isNonTemporal);
  EXPECT_FALSE(localityOf(k, false)[1].isNonTemporal);
  const auto small = localityOf(copyOfRows(32));
  EXPECT_FALSE(small[0].isInDram || small[1].isNonTemporal);
}

TEST(BlockLocality, BlocksThatComeAgainAreReused) {
  // Each row of blocks sees all blocks of y.
  TextKernel k({4, 3}, "arbitrary");
  const Val x = k.input(part({32, 128}, {8, 128})), y = k.input(part({24, 128}, {8, 128}, "%j, %c0")),
            z = k.input(part({8, 128}, {8, 128}, "%c0, %c0"));
  const Val o = k.output(part({32, 384}, {8, 128}, "%i, %j"));
  k.store(k.binary("arith.addf", k.load(z), k.binary("arith.addf", k.load(x), k.load(y))), o);
  const auto locality = localityOf(k);
  EXPECT_THAT(locality[0].reuse, Optional(IsEmpty())) << "the same block in steps that follow each other";
  EXPECT_THAT(locality[1].reuse, Optional(ElementsAre(0))) << "three blocks in turn";
  EXPECT_THAT(locality[2].reuse, Optional(IsEmpty()));
  EXPECT_FALSE(locality[3].reuse) << "an output";
}

/// A product of one row with the rows of a page that a table chooses.
TextKernel lookedUp(std::vector<int64_t> grid) {
  TextKernel k(std::move(grid), "arbitrary");
  k.prefetch("i32", {5});
  const Val q = k.input(part({1, 32}, {1, 32}, "%c0, %c0"));
  const Val pages = k.input({.array = {128, 32},
                             .block = {16, 32},
                             .map = "%page, %c0",
                             .lines = "%at = arith.index_cast %i : i32 to index\n"
                                      "%page = memref.load %p0[%at] : memref<5xi32, #tpu.memory_space<smem>>"});
  const Val o = k.output(part({5, 16}, {1, 16}));
  k.store(multiplied(k, k.load(q), k.load(pages), true, k.splat(k.f32(0), {1, 16})), o);
  return k;
}

TEST(BlockLocality, LookedUpBlocksOfTheNextStepArePrefetched) {
  EXPECT_TRUE(localityOf(lookedUp({5, 1}))[1].prefetchesNext) << "steps move along the first axis";
  EXPECT_FALSE(localityOf(lookedUp({5, 1}))[0].prefetchesNext) << "not looked up";
  EXPECT_FALSE(localityOf(lookedUp({1, 1}))[1].prefetchesNext) << "no step is next";
}

}  // namespace
}  // namespace smalti::cpu
