// How a kernel reaches its operands, asked of the plan.
#include "cpu/plan/GridPlan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "Blocks.h"

namespace smalti::cpu {
namespace {

using machine::testing::Spec;
using machine::testing::TextKernel;
using machine::testing::Val;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::part;

GridPlan planOf(const TextKernel& k, GridOptions options = {}) {
  auto plan = planGrid(k.package(), options);
  EXPECT_TRUE(plan.has_value());
  return plan.value_or(GridPlan());
}

/// o = x, block by block.
TextKernel copyOf(std::vector<int64_t> grid, const Spec& x, const Spec& o) {
  TextKernel k(std::move(grid), "arbitrary");
  const Val from = k.input(x), to = k.output(o);
  k.store(k.load(from), to);
  return k;
}

TEST(GridPlan, BlocksInsideAreViews) {
  const GridPlan plan = planOf(copyOf({4}, part({32, 128}, {8, 128}), part({32, 128}, {8, 128})));
  for (const BlockPlan& b : plan.blocks) {
    EXPECT_EQ(b.access, BlockAccess::view);
    EXPECT_FALSE(b.isPartial || b.tracksBlock);
    EXPECT_THAT(b.maybeOutside, IsEmpty());
  }
  EXPECT_FALSE(plan.blocks[0].isOutput);
  EXPECT_TRUE(plan.blocks[1].isOutput);
  EXPECT_THAT(plan.written, ElementsAre(true));
}

TEST(GridPlan, PartialBlocksHaveABuffer) {
  const GridPlan plan = planOf(copyOf({4}, part({30, 128}, {8, 128}), part({30, 128}, {8, 128})));
  for (const BlockPlan& b : plan.blocks) {
    EXPECT_EQ(b.access, BlockAccess::edgeBuffer);
    EXPECT_TRUE(b.isPartial);
    EXPECT_FALSE(b.tracksBlock) << "all of it is written";
  }
}

TEST(GridPlan, APartialOutputThatIsNotAllWrittenStartsAsTheArray) {
  TextKernel k({4}, "arbitrary");
  const Val o = k.output(part({30, 128}, {8, 128}));
  k.store(k.splat(k.f32(1), {4, 128}), o);
  const GridPlan plan = planOf(k);
  EXPECT_EQ(plan.blocks[0].access, BlockAccess::edgeBuffer);
  EXPECT_TRUE(plan.blocks[0].tracksBlock);
  EXPECT_THAT(plan.written, ElementsAre(false));
}

TEST(GridPlan, AnInputThatIsWrittenToIsCopied) {
  TextKernel k({4}, "arbitrary");
  const Val x = k.input(part({32, 128}, {8, 128})), o = k.output(part({32, 128}, {8, 128}));
  k.store(k.splat(k.f32(1), {8, 128}), x);
  k.store(k.load(x), o);
  const BlockPlan b = planOf(k).blocks[0];
  EXPECT_EQ(b.access, BlockAccess::copied);
  EXPECT_TRUE(b.tracksBlock);
}

TEST(GridPlan, BlocksThatMayLieOutsideAreChecked) {
  const TextKernel k = copyOf({5}, part({32, 128}, {8, 128}), part({40, 128}, {8, 128}));
  const BlockPlan b = planOf(k).blocks[0];
  EXPECT_THAT(b.maybeOutside, ElementsAre(0));
  EXPECT_EQ(b.access, BlockAccess::view) << "whole blocks, and the step of another one ends the call";
  const BlockPlan unchecked = planOf(k, {.checkBlocks = false}).blocks[0];
  EXPECT_THAT(unchecked.maybeOutside, IsEmpty());
  EXPECT_EQ(unchecked.access, BlockAccess::edgeBuffer);
}

TEST(GridPlan, PartialBlocksThatMayLieOutsideHaveABuffer) {
  const TextKernel k = copyOf({5}, part({30, 128}, {8, 128}), part({40, 128}, {8, 128}));
  const BlockPlan b = planOf(k).blocks[0];
  EXPECT_THAT(b.maybeOutside, ElementsAre(0));
  EXPECT_EQ(b.access, BlockAccess::edgeBuffer);
}

TEST(GridPlan, SharedAxesAreWalkedFastestFirst) {
  const TextKernel k = copyOf({4, 2}, part({32, 256}, {8, 128}, "%i, %j"), part({32, 256}, {8, 128}, "%i, %j"));
  const GridPlan plan = planOf(k, {.sharedAxes = 2});
  EXPECT_THAT(plan.sharedOrder, ElementsAre(1, 0));
  EXPECT_EQ(plan.fastestAxis, 1u);
}

TEST(GridPlan, SaysWhyThereIsNone) {
  TextKernel k({4}, "arbitrary");
  const Val o = k.output({.array = {32, 128}, .block = {8, 128}, .map = "%i, %c0", .space = "vmem"});
  k.store(k.splat(k.f32(1), {8, 128}), o);
  KernelPackage package = k.package();
  package.signature.windows[0]->revisitMode = RevisitMode::any;
  const auto plan = planGrid(package, {});
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().reason, "RevisitMode.ANY");
}

}  // namespace
}  // namespace smalti::cpu
