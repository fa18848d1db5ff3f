// How skinny products are divided.
#include "cpu/plan/product/SkinnyPlan.h"

#include <gtest/gtest.h>

namespace smalti::cpu {
namespace {

/// 32 registers of 16 lanes, or 16 of 8.
Processor wide() { return {.vectorBytes = 64, .vectorRegisters = 32, .l1Bytes = 32 << 10}; }
Processor narrow() { return {.vectorBytes = 32, .vectorRegisters = 16, .l1Bytes = 32 << 10}; }

SkinnyFacts facts(int64_t m, int64_t n, int64_t k, bool transposedB, int64_t parts = 1) {
  return {.shape = {.m = m, .n = n, .k = k, .transposedB = transposedB}, .parts = parts};
}

TEST(SkinnyPlan, DotProductsHoldAIfItFitsHalfOfTheRegisters) {
  const auto plan = [](int64_t m, int64_t k) { return planGemvDot(facts(m, 512, k, true), wide()); };
  EXPECT_TRUE(plan(4, 64).holdsA) << "16 vectors";
  EXPECT_FALSE(plan(4, 65).holdsA);
  EXPECT_EQ(plan(1, 64).rowsOfA, 1);
  EXPECT_EQ(plan(8, 64).rowsOfA, 4);
}

TEST(SkinnyPlan, DotProductsOfShortRowsTakeFewerLanes) {
  EXPECT_EQ(planGemvDot(facts(1, 512, 16, true), wide()).lanes, 16);
  EXPECT_EQ(planGemvDot(facts(1, 512, 8, true), wide()).lanes, 8);
  EXPECT_EQ(planGemvDot(facts(1, 512, 1, true), wide()).lanes, 1);
  SkinnyFacts pairs = facts(1, 512, 8, true);
  pairs.bf16Pairs = true;
  EXPECT_EQ(planGemvDot(pairs, wide()).lanes, 16) << "an instruction takes whole registers";
  EXPECT_EQ(planGemvDot(pairs, wide()).width, 32);
}

TEST(SkinnyPlan, DotProductsTakeNeighboursOfAPartOnceMultiplyingIsSlow) {
  EXPECT_EQ(planGemvDot(facts(kSlowRows - 1, 512, 64, true), wide()).consecutiveRowsOfB, 1);
  EXPECT_EQ(planGemvDot(facts(kSlowRows, 512, 64, true), wide()).consecutiveRowsOfB, 4);
  EXPECT_EQ(planGemvDot(facts(kSlowRows, 512, 64, true, 2), wide()).consecutiveRowsOfB, 2) << "4 rows of 2 parts";
  EXPECT_EQ(planGemvDot(facts(kSlowRows, 512, 64, true, 8), wide()).consecutiveRowsOfB, 1);
}

TEST(SkinnyPlan, SumsAreCollectedIfRowsAndPartsExceedTheWaysOfL1) {
  const auto staged = [](int64_t m, int64_t n, int64_t parts) {
    return planGemvDot(facts(m, n, 64, true, parts), wide()).stagedColumns;
  };
  EXPECT_EQ(staged(4, 512, 2), 0) << "8 lines";
  EXPECT_EQ(staged(4, 512, 4), 16);
  EXPECT_EQ(staged(4, 4 * 31, 4), 0) << "a part has less than two lines of columns";
  EXPECT_EQ(staged(4, 4 * 32, 4), 16);
}

TEST(SkinnyPlan, IndependentSumsHideTheLatencyOfMultiplyAdds) {
  EXPECT_EQ(GemvDotPlan::chains(1, 1), 4);
  EXPECT_EQ(GemvDotPlan::chains(2, 1), 2);
  EXPECT_EQ(GemvDotPlan::chains(4, 4), 1);
}

TEST(SkinnyPlan, TileRegistersHoldAUpToFourTiles) {
  const auto plan = [](int64_t m, int64_t k) {
    SkinnyFacts f = facts(m, 512, k, true);
    f.shape.a = f.shape.b = DType::bf16;
    return planDotTiles(f, wide());
  };
  EXPECT_EQ(plan(4, 128).columns, 4);
  EXPECT_EQ(plan(5, 128).columns, 8) << "a power of two";
  EXPECT_EQ(plan(16, 128).columns, 16);
  EXPECT_TRUE(plan(4, 128).holdsA);
  EXPECT_FALSE(plan(4, 160).holdsA);
  EXPECT_TRUE(plan(4, 512).prefetchesL1) << "16 rows of 1 KiB are half of L1";
  EXPECT_FALSE(plan(4, 544).prefetchesL1);
}

TEST(SkinnyPlan, AxpyKeepsSumsInRegistersUpToALimit) {
  const auto inRegisters = [](int64_t m, int64_t n, const Processor& p) {
    return planGemvAxpy(facts(m, n, 512, false), p).sumsInRegisters;
  };
  EXPECT_TRUE(inRegisters(3, 8 * 16, wide())) << "24 vectors";
  EXPECT_FALSE(inRegisters(3, 8 * 16 + 1, wide()));
  EXPECT_TRUE(inRegisters(2, 4 * 8, narrow())) << "8 vectors";
  EXPECT_FALSE(inRegisters(2, 4 * 8 + 1, narrow()));
}

TEST(SkinnyPlan, DotProductsDivideKUntilAFitsHalfOfL1) {
  const auto part = [](int64_t m, int64_t k) { return planGemvDot(facts(m, 1024, k, true), wide()).partOfK; };
  EXPECT_EQ(part(8, 512), 0) << "16 KiB of f32";
  EXPECT_EQ(part(8, 513), 320) << "two parts of whole iterations";
  EXPECT_EQ(part(8, 4096), 512);
  EXPECT_EQ(part(4, 1024), 0);
  EXPECT_EQ(part(4, 4096), 1024);
  EXPECT_EQ(part(3, 4096), 0) << "memory is slower";
}

TEST(SkinnyPlan, AxpyKeepsAllRowsOfCInHalfOfL1) {
  for (const int64_t m : {1, 2, 3}) {
    const GemvAxpyPlan plan = planGemvAxpy(facts(m, 1 << 20, 512, false), wide());
    EXPECT_EQ(plan.cachedColumns % plan.passColumns, 0);
    EXPECT_LE(plan.cachedColumns * m * 4, wide().l1Bytes / 2);
    EXPECT_GT((plan.cachedColumns + plan.passColumns) * m * 4, wide().l1Bytes / 2) << "no more fit";
  }
  EXPECT_EQ(planGemvAxpy(facts(1, 4096, 512, false), wide()).rowsOfB, 4);
  EXPECT_EQ(planGemvAxpy(facts(1, 4096, 512, false), wide()).consecutiveRowsOfB, 4);
  EXPECT_EQ(planGemvAxpy(facts(1, 4096, 512, false, 4), wide()).consecutiveRowsOfB, 1) << "one of each of four parts";
  EXPECT_EQ(planGemvAxpy(facts(1, 128, 512, false), wide()).consecutiveRowsOfB, 1) << "sums stay in registers";
  EXPECT_EQ(planGemvAxpy(facts(3, 4096, 512, false), narrow()).rowsOfB, 2) << "6 of 16 registers hold elements of A";
}

TEST(SkinnyPlan, TilesCutLongRowsIntoPanels) {
  const SkinnyTilesPlan shortRows = planSkinnyTiles(facts(8, 512, 4096, false), wide());
  EXPECT_EQ(shortRows.panelColumns, 512);
  EXPECT_EQ(shortRows.groupRows, 64);
  EXPECT_EQ(shortRows.prefetchedRows, 64) << "the next group, while one is multiplied";
  const SkinnyTilesPlan longRows = planSkinnyTiles(facts(8, 520, 4096, false), wide());
  EXPECT_EQ(longRows.groupRows, 64);
  EXPECT_EQ(longRows.panelColumns, 512) << "64 rows of 2 KiB are an eighth of L2";
  EXPECT_EQ(longRows.tileRows, 8);
  EXPECT_EQ(planSkinnyTiles(facts(8, 128, 4096, false), narrow()).tileRows, 4);
}

TEST(SkinnyPlan, TilesHaveRowsOfSeveralStreamsIfTheProcessorReadsThemFaster) {
  Processor p = wide();
  p.prefetchStreams = 4;
  const SkinnyTilesPlan four = planSkinnyTiles(facts(8, 128, 4096, false, 4), p);
  EXPECT_EQ(four.streams, 4);
  EXPECT_EQ(four.groupRows, 16) << "together as many as of one stream";
  EXPECT_EQ(four.prefetchedRows, 16);
  EXPECT_EQ(planSkinnyTiles(facts(8, 128, 4096, false, 6), p).streams, 2) << "divides the number of blocks";
  EXPECT_EQ(planSkinnyTiles(facts(8, 128, 4096, false, 4), wide()).streams, 1);
  EXPECT_EQ(planSkinnyTiles(facts(8, 129, 4096, false, 4), p).streams, 1) << "long rows";
}

}  // namespace
}  // namespace smalti::cpu
