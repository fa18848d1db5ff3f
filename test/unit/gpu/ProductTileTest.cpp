#include "gpu/plan/ProductTile.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "gpu/device/Primitives.h"

namespace smalti::gpu {
namespace {

Architecture named(const char* name) { return *architectureNamed(name); }

TEST(ProductTiles, LargeProductsHaveTheLargestInstructionOfAWarpGroup) {
  const ProductShape shape{.m = 4096, .n = 4096, .k = 4096};
  EXPECT_EQ(threadsForProduct(shape, named("sm_90a")), 256);
  const auto tile = tileFor(shape, 256, named("sm_90a"), false);
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->unit, ProductUnit::warpGroups);
  EXPECT_EQ(tile->rows(), 128);
  EXPECT_EQ(tile->columns(), 256);
  EXPECT_EQ(tile->sums(), 128);
  EXPECT_EQ(tile->stageBytes(), (128 + 256) * 128);
  EXPECT_EQ(tile->stages, 4);
}

TEST(ProductTiles, OtherGpusHaveWarps) {
  const auto tile = tileFor({.m = 4096, .n = 4096, .k = 4096}, 256, named("sm_80"), false);
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->unit, ProductUnit::warps);
  EXPECT_EQ(tile->rows() * tile->columns(), 128 * 128 * tile->sums() / 64);
}

TEST(ProductTiles, RegisterTilesFit) {
  for (const char* gpu : {"sm_80", "sm_86", "sm_90a"})
    for (int64_t m = 8; m <= 512; m *= 2)
      for (int64_t n = 8; n <= 512; n *= 2) {
        const ProductShape shape{.m = m, .n = n, .k = 256};
        const int threads = threadsForProduct(shape, named(gpu));
        const auto tile = tileFor(shape, threads, named(gpu), true);
        if (!tile) {
          EXPECT_TRUE(m * n > 64 * 64 || std::max(m, n) == 512) << gpu << " " << m << " × " << n;
          continue;
        }
        EXPECT_GE(tile->rows(), m);
        EXPECT_GE(tile->columns(), n);
        EXPECT_LE(tile->sums(), mostSums(threads));
        EXPECT_EQ(tile->warpsDown * tile->warpsAcross * kWarp, threads);
        EXPECT_LE(tile->stages * tile->stageBytes(), named(gpu).sharedBytes);
      }
}

TEST(ProductTiles, TwoStagesOfATileThatNeedNotCoverFit) {
  for (const char* gpu : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"})
    for (const bool exact : {false, true})
      for (const auto& [m, n] : {std::pair{256, 128}, {128, 256}, {512, 512}, {128, 128}}) {
        const ProductShape shape{.dtype = exact ? DType::f32 : DType::bf16, .exact = exact, .m = m, .n = n, .k = 512};
        const auto tile = tileFor(shape, threadsForProduct(shape, named(gpu)), named(gpu), false);
        ASSERT_TRUE(tile) << gpu << " " << m << " × " << n;
        EXPECT_GE(tile->stages, 2);
        EXPECT_LE(tile->stages * tile->stageBytes(), named(gpu).sharedBytes);
      }
}

TEST(ProductTiles, ExactProductsOfF32AreThreads) {
  const ProductShape shape{.dtype = DType::f32, .exact = true, .m = 128, .n = 128, .k = 64, .rhsDepthInner = false};
  for (const char* gpu : {"sm_80", "sm_90a"}) {
    const auto tile = tileFor(shape, threadsForProduct(shape, named(gpu)), named(gpu), true);
    ASSERT_TRUE(tile);
    EXPECT_EQ(tile->unit, ProductUnit::threads);
    EXPECT_EQ(tile->sums(), 64);
    EXPECT_EQ(2 * tile->fragmentsM, 8) << "rows of a thread, as many as columns";
    EXPECT_EQ(tile->depth(), 32);
  }
}

TEST(ProductTiles, WarpsThatMultiplyF32MayHaveWholeRows) {
  const ProductShape shape{.dtype = DType::f32, .exact = true, .m = 64, .n = 128, .k = 64};
  for (const char* gpu : {"sm_80", "sm_90a"}) {
    const auto tile = tileFor(shape, 128, named(gpu), true, WarpGrid::rows);
    ASSERT_TRUE(tile);
    EXPECT_EQ(tile->unit, ProductUnit::threads);
    EXPECT_EQ(tile->warpsDown, 4);
    EXPECT_EQ(tile->warpsAcross, 1);
    EXPECT_EQ(tile->sums(), 2 * 32) << "two rows of a thread, a quarter of the columns";
  }
}

TEST(ProductTiles, TensorCoresOfAnArchitectureMultiplyItsTypes) {
  EXPECT_TRUE(isForTensorCores(DType::i8, named("sm_80")));
  EXPECT_FALSE(isForTensorCores(DType::f8e4m3fn, named("sm_80")));
  EXPECT_TRUE(isForTensorCores(DType::f8e4m3fn, named("sm_89")));
  EXPECT_FALSE(isForTensorCores(DType::i32, named("sm_90a")));
}

TEST(ProductTiles, WarpsHaveRegistersForWhatTheyMultiply) {
  const ProductShape shape{.m = 128, .n = 256, .k = 64};
  EXPECT_EQ(threadsForProduct(shape, named("sm_80")), 512);
  EXPECT_EQ(threadsForProduct(shape, named("sm_90a")), 256);
  EXPECT_EQ(tileFor(shape, 512, named("sm_80"), true)->sums(), 64);
}

TEST(ProductTiles, AWarpGroupMultipliesSkinnyProducts) {
  for (const int64_t m : {1, 4, 16, 32}) {
    const auto tile = tileFor({.m = m, .n = 128, .k = 128, .rhsDepthInner = true}, 128, named("sm_90a"), true);
    ASSERT_TRUE(tile) << m;
    EXPECT_EQ(tile->unit, ProductUnit::warpGroups) << m;
    EXPECT_EQ(tile->rows(), 64) << "the other rows are beyond the result's end";
  }
  EXPECT_FALSE(tileFor({.m = 4, .n = 32, .k = 128}, 128, named("sm_90a"), true)) << "less than the columns of a stage";
  EXPECT_FALSE(tileFor({.m = 4, .n = 128, .k = 32}, 128, named("sm_90a"), true)) << "less than its depth";
  EXPECT_EQ(tileFor({.m = 65, .n = 128, .k = 128}, 256, named("sm_90a"), true)->unit, ProductUnit::warps)
      << "a second group would have a single row";
}

TEST(ProductTiles, TooSmallProductsAreNotForTensorCores) {
  EXPECT_FALSE(tileFor({.m = 4, .n = 128, .k = 128}, 128, named("sm_80"), false));
  EXPECT_FALSE(tileFor({.m = 128, .n = 128, .k = 8}, 128, named("sm_90a"), false));
}

TEST(GroupProducts, AreNamedByWhatTheyCompute) {
  const GroupProduct product{
      .columns = 192, .dtype = DType::f16, .lhsDepthInner = false, .rhsDepthInner = true, .lhsStride = 8192};
  const GroupProduct read = groupProductNamed(groupMmaName(product));
  EXPECT_EQ(groupMmaName(read), groupMmaName(product));
  EXPECT_EQ(read.columns, 192);
  EXPECT_EQ(read.dtype, DType::f16);
  EXPECT_FALSE(read.lhsDepthInner);
  EXPECT_EQ(read.lhsStride, 8192);
  EXPECT_EQ(groupsNamed(waitName(3)), 3);
}

}  // namespace
}  // namespace smalti::gpu
