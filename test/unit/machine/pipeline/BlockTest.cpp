// S-B: what a block is, at the edges too.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../runtime/TextKernel.h"

namespace smalti::machine::testing {
namespace {

/// out block (step) = in block (step), element-wise copy.
TextKernel copyKernel(std::vector<int64_t> grid, Spec in, Spec out) {
  TextKernel k(std::move(grid));
  const Val x = k.input(std::move(in)), o = k.output(std::move(out));
  k.store(k.load(x), o);
  return k;
}

TEST(Blocks, SB1_ABlockIsIndexTimesBlockSize) {
  auto k = copyKernel({3}, {.array = {6, 4}, .block = {2, 4}, .map = "%i, %c0"},
                      {.array = {6, 4}, .block = {2, 4}, .map = "%r, %c0", .lines = "%r = arith.subi %c2, %i : i32"});
  const auto out = floats(results(k, {counting({6, 4})})[0]);
  EXPECT_EQ(out[0], 16.f);
  EXPECT_EQ(out[8], 8.f);
  EXPECT_EQ(out[16], 0.f);
}

TEST(Blocks, SB2_ElementWindowsCountElementsOfTheVirtuallyPaddedArray) {
  // Overlapping windows of 4 rows that start at row 2*i - 2.
  auto k = copyKernel({3},
                      {.array = {6, 4},
                       .block = {4, 4},
                       .map = "%r, %c0",
                       .lines = "%r = arith.muli %i, %c2 : i32",
                       .attributes = "window_kind = #tpu.element_window<[2, 0], [2, 0]>"},
                      {.array = {12, 4}, .block = {4, 4}, .map = "%i, %c0"});
  const auto out = floats(results(k, {counting({6, 4})})[0]);
  EXPECT_TRUE(std::isnan(out[0])) << "padding is undefined";
  EXPECT_EQ(out[2 * 4], 0.f);
  EXPECT_EQ(out[4 * 4], 0.f);
  EXPECT_EQ(out[8 * 4], 8.f);
}

TEST(Blocks, SB2_OutputPartsInThePaddingAreDropped) {
  TextKernel k({2});
  const Val o = k.output({.array = {4, 4},
                          .block = {4, 4},
                          .map = "%r, %c0",
                          .lines = "%r = arith.muli %i, %c4 : i32",
                          .attributes = "window_kind = #tpu.element_window<[2, 0], [2, 0]>"});
  const Val v = k.binary("arith.addi", k.id(0), k.constant(1));
  k.store(k.splat(k.toFloat(v), {4, 4}), o);
  const auto out = floats(results(k, {})[0]);
  EXPECT_EQ(out[0], 1.f);
  EXPECT_EQ(out[2 * 4], 2.f);
}

TEST(Blocks, SB3_SqueezedDimensionsAreOnesInTheWindow) {
  auto k = copyKernel({2}, {.array = {2, 2, 4}, .block = {1, 2, 4}, .map = "%i, %c0, %c0"},
                      {.array = {2, 2, 4}, .block = {1, 2, 4}, .map = "%i, %c0, %c0"});
  EXPECT_EQ(floats(results(k, {counting({2, 2, 4})})[0]), floats(counting({2, 2, 4})));
}

TEST(Blocks, SB6_OnlyTheInRangePartOfAnEdgeBlockIsCopied) {
  auto k = copyKernel({3}, {.array = {5, 4}, .block = {2, 4}, .map = "%i, %c0"},
                      {.array = {5, 4}, .block = {2, 4}, .map = "%i, %c0"});
  auto r = runOn(k, {{counting({5, 4})}}, checked());
  ASSERT_TRUE(r) << r.error().str();
  EXPECT_EQ(floats(r->results[0][0]), floats(counting({5, 4})));
  EXPECT_TRUE(r->findings.empty()) << r->findings[0].diagnostic.str();
}

TEST(Blocks, SB6_ABlockWithNothingInRangeIsFound) {
  auto k = copyKernel({4}, {.array = {4, 4}, .block = {2, 4}, .map = "%i, %c0"},
                      {.array = {8, 4}, .block = {2, 4}, .map = "%i, %c0"});
  auto r = runOn(k, {{counting({4, 4})}});
  ASSERT_TRUE(r) << r.error().str();
  ASSERT_EQ(r->findings.size(), 1u);
  EXPECT_EQ(r->findings[0].count, 2);
  EXPECT_EQ(r->findings[0].diagnostic.str(),
            "error[SM4111]: the index map of input 0 gives a block outside the array\n"
            "  --> -:15:1\n"
            "   in kernel 'kernel'\n"
            "   in grid step (2)\n"
            "  need: at least one element of every block inside f32[4,4]\n"
            "  have: block index (2, 0), elements [4:6, 0:4]\n"
            "  help: clamp the block index in the index map, or make the grid smaller\n");
  EXPECT_EQ(r->findings[0].severity, Severity::finding);
  MachineOptions unchecked;
  unchecked.readsOutsideAreWarnings = true;
  r = runOn(k, {{counting({4, 4})}}, unchecked);
  EXPECT_EQ(r->findings[0].severity, Severity::warning);
  EXPECT_EQ(
      r->findings[0].diagnostic.help,
      "harmless if nothing uses the block, which is undefined; otherwise clamp the block index in the index map, or "
      "make the grid smaller");
  EXPECT_TRUE(std::isnan(floats(r->results[0][0])[31]));
  unchecked.checkBounds = false;
  EXPECT_TRUE(runOn(k, {{counting({4, 4})}}, unchecked)->findings.empty());
}

TEST(Blocks, SB6_ReadsBeyondTheEdgeAreUndefinedWhenTheyReachAnOutput) {
  auto k = copyKernel({1}, {.array = {1, 4}, .block = {2, 4}, .map = "%i, %c0"},
                      {.array = {2, 4}, .block = {2, 4}, .map = "%i, %c0"});
  auto r = runOn(k, {{counting({1, 4})}}, checked());
  ASSERT_TRUE(r) << r.error().str();
  EXPECT_EQ(codes(*r), std::vector<std::string>{"SM4102"});
  EXPECT_THAT(r->findings[0].diagnostic.have,
              ::testing::StartsWith(
                  "4 undefined element(s), the first at [1, 0]; undefined elements were read from input 0 outside "
                  "its array"));
}

TEST(Blocks, SB7_HloPadsWithNaN) {
  MachineOptions options;
  options.semantics = Semantics::hlo;
  // The edge row of step 1 must be NaN although the window held data before.
  auto k = copyKernel({2}, {.array = {3, 4}, .block = {2, 4}, .map = "%i, %c0"},
                      {.array = {4, 4}, .block = {2, 4}, .map = "%i, %c0"});
  const auto out = floats(results(k, {counting({3, 4})}, options)[0]);
  EXPECT_EQ(out[2 * 4], 8.f);
  EXPECT_TRUE(std::isnan(out[3 * 4]));
}

TEST(Blocks, SB8_UndefinedIntegersAreTheMinimumOrTheMaximum) {
  for (Poison poison : {Poison::intMin, Poison::intMax}) {
    MachineOptions options;
    options.poison = poison;
    auto k = copyKernel({1}, {.dtype = "i32", .array = {1, 4}, .block = {2, 4}, .map = "%i, %c0"},
                        {.dtype = "i32", .array = {2, 4}, .block = {2, 4}, .map = "%i, %c0"});
    const auto out = ints(results(k, {i32Array({1, 4}, [](int64_t i) { return i; })}, options)[0]);
    EXPECT_EQ(out[3], 3);
    EXPECT_EQ(out[4], poison == Poison::intMin ? INT32_MIN : INT32_MAX);
  }
}

TEST(Blocks, SB7_UndefinedInt16IsZeroWhereInterpretTakesItForASemaphore) {
  auto k = copyKernel({1}, {.dtype = "i16", .array = {1, 4}, .block = {2, 4}, .map = "%i, %c0"},
                      {.dtype = "i16", .array = {2, 4}, .block = {2, 4}, .map = "%i, %c0"});
  Array in = *Array::allocate({DType::i16, {1, 4}});
  for (int16_t i = 0; i < 4; ++i) reinterpret_cast<int16_t*>(in.data())[i] = i;
  const Array out = results(k, {in})[0];
  EXPECT_EQ(reinterpret_cast<const int16_t*>(out.data())[3], 3);
  EXPECT_EQ(reinterpret_cast<const int16_t*>(out.data())[4], 0);
}

TEST(Blocks, SB9_TheRestOfAnEdgeWindowKeepsStaleData) {
  auto k = copyKernel({2}, {.array = {3, 4}, .block = {2, 4}, .map = "%i, %c0"},
                      {.array = {4, 4}, .block = {2, 4}, .map = "%i, %c0"});
  const auto out = floats(results(k, {counting({3, 4})})[0]);
  EXPECT_EQ(out[2 * 4], 8.f);
  EXPECT_EQ(out[3 * 4], 4.f) << "row 1 of the block before";
}

TEST(Blocks, SB9_TheRestOfAnEdgeWindowIsPoisonWhereRecordingsPadTheirArrays) {
  MachineOptions options;
  options.staleEdges = false;
  auto k = copyKernel({2}, {.array = {3, 4}, .block = {2, 4}, .map = "%i, %c0"},
                      {.array = {4, 4}, .block = {2, 4}, .map = "%i, %c0"});
  const auto out = floats(results(k, {counting({3, 4})}, options)[0]);
  EXPECT_EQ(out[2 * 4], 8.f);
  EXPECT_TRUE(std::isnan(out[3 * 4]));
}

TEST(Blocks, SB10_ATrivialWindowIsFetchedOnceAndWrittenOnce) {
  auto k = copyKernel({5}, {.array = {4, 4}, .block = {4, 4}, .map = "%c0, %c0"},
                      {.array = {4, 4}, .block = {4, 4}, .map = "%c0, %c0"});
  auto r = runOn(k, {{counting({4, 4})}});
  ASSERT_TRUE(r) << r.error().str();
  EXPECT_EQ(r->statistics.windowFetches, 1);
  EXPECT_EQ(r->statistics.windowWriteBacks, 1);
}

TEST(Blocks, SB11_IndexMapsComputeFromGridIndicesAndPrefetch) {
  TextKernel k({3});
  k.prefetch("i32", {3});
  const Val x = k.input({.array = {6, 4},
                         .block = {2, 4},
                         .map = "%b, %c0",
                         .lines = "%n = arith.index_cast %i : i32 to index\n%b = memref.load %p0[%n] : memref<3xi32, "
                                  "#tpu.memory_space<smem>>"});
  const Val o = k.output({.array = {6, 4}, .block = {2, 4}, .map = "%i, %c0"});
  k.store(k.load(x), o);
  const Array order = i32Array({3}, [](int64_t i) { return static_cast<int32_t>((i + 1) % 3); });
  const auto out = floats(results(k, {order, counting({6, 4})})[0]);
  EXPECT_EQ(out[0], 8.f);
  EXPECT_EQ(out[16], 0.f);
}

TEST(Blocks, SB12_BlocksNeedNotFollowTheTiling) {
  auto k = copyKernel({2, 2}, {.array = {5, 7}, .block = {3, 5}, .map = "%i, %j"},
                      {.array = {5, 7}, .block = {3, 5}, .map = "%i, %j"});
  EXPECT_EQ(floats(results(k, {counting({5, 7})})[0]), floats(counting({5, 7})));
}

}  // namespace
}  // namespace smalti::machine::testing
