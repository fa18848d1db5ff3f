// How caches are used for a grid's blocks, asked of the plan.
#include "cpu/plan/BlockLocality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../machine/runtime/TextKernel.h"

namespace smalti::cpu {
namespace {

using machine::testing::Spec;
using machine::testing::TextKernel;
using machine::testing::Val;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

Spec part(Shape array, Shape block, std::string map = "%i, %c0") {
  return {.array = std::move(array), .block = std::move(block), .map = std::move(map)};
}

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

}  // namespace
}  // namespace smalti::cpu
