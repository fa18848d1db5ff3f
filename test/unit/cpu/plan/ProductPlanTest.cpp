// How products are computed, asked of the plan.
#include "cpu/plan/product/ProductPlan.h"

#include <gtest/gtest.h>

namespace smalti::cpu {
namespace {

Processor znver5() { return *processorNamed("x86_64-unknown-linux-gnu/znver5"); }

/// Not of a name, whose code runs anywhere: the features of a process that may use them.
Processor withTiles() {
  Processor p = *processorNamed("x86_64-unknown-linux-gnu/sapphirerapids");
  p.features += ",+amx-tile,+amx-bf16,+amx-int8";
  return p;
}

GemmShape product(int64_t m, int64_t n, int64_t k, bool transposedB = false, DType dtype = DType::f32) {
  return {.m = m, .n = n, .k = k, .a = dtype, .b = dtype, .c = DType::f32, .transposedB = transposedB};
}
ProductPlan planOf(ProductFacts facts) { return planProduct(facts, znver5()); }
Strategy strategyOf(ProductFacts facts) { return planOf(std::move(facts)).strategy(); }

TEST(ProductPlan, FewRowsTimesATransposedMatrixAreDotProducts) {
  EXPECT_EQ(strategyOf({.shape = product(1, 64, 64, true)}), Strategy::gemvDot);
  EXPECT_EQ(strategyOf({.shape = product(kSkinnyRows, 4096, 4096, true)}), Strategy::gemvDot);
  EXPECT_EQ(strategyOf({.shape = product(kSkinnyRows + 1, 4096, 4096, true)}), Strategy::packed);
  EXPECT_EQ(strategyOf({.shape = product(16, 4096, 4096)}), Strategy::skinnyTiles) << "reads B in place";
  EXPECT_EQ(strategyOf({.shape = product(17, 4096, 4096)}), Strategy::packed);
  EXPECT_EQ(strategyOf({.shape = product(16, 256, 512)}), Strategy::packed) << "B fits L2";
  EXPECT_EQ(strategyOf({.shape = product(16, 4096, 4096), .reusedBlocksOfB = 1}), Strategy::packed);
  GemmShape transposed = product(4, 64, 64, true);
  transposed.transposedA = true;
  EXPECT_EQ(strategyOf({.shape = transposed}), Strategy::packed);
}

TEST(ProductPlan, TileRegistersComputeDotProductsOfBf16IfTilesFillThem) {
  const auto strategy = [](int64_t m, int64_t n, int64_t k, int64_t blocks = 1, DType a = DType::bf16) {
    GemmShape shape = product(m, n, k, true, DType::bf16);
    shape.a = a;
    return planProduct({.shape = shape, .blocksOfB = blocks}, withTiles()).strategy();
  };
  EXPECT_EQ(strategy(4, 64, 32), Strategy::dotTiles);
  EXPECT_EQ(strategy(16, 4096, 4096), Strategy::dotTiles);
  EXPECT_EQ(strategy(8, 64, 32, 4), Strategy::dotTiles) << "blocks of 16 rows";
  EXPECT_EQ(strategy(8, 64, 32, 8), Strategy::gemvDot) << "blocks of 8 rows";
  EXPECT_EQ(strategy(3, 64, 32), Strategy::gemvDot) << "reading takes longer";
  EXPECT_EQ(strategy(17, 64, 32), Strategy::packed);
  EXPECT_EQ(strategy(8, 64, 48), Strategy::gemvDot) << "one and a half tiles";
  EXPECT_EQ(strategy(8, 72, 32), Strategy::gemvDot);
  EXPECT_EQ(strategy(8, 64, 32, 1, DType::f32), Strategy::gemvDot);
  EXPECT_NE(planOf({.shape = product(8, 64, 32, true)}).strategy(), Strategy::dotTiles) << "no tile registers";
}

/// Tiles multiply an f32 as three bf16, which takes longer than FMA while there are few rows.
TEST(ProductPlan, FewRowsOfF32TimesBf16LeaveTileRegistersUnused) {
  const auto strategy = [](int64_t m, DType a) {
    GemmShape shape = product(m, 128, 128, false, DType::bf16);
    shape.a = a;
    return planProduct({.shape = shape}, withTiles()).strategy();
  };
  EXPECT_EQ(strategy(4, DType::f32), Strategy::skinnyTiles);
  EXPECT_EQ(strategy(8, DType::f32), Strategy::skinnyTiles);
  EXPECT_EQ(strategy(9, DType::f32), Strategy::packed);
  EXPECT_EQ(strategy(8, DType::bf16), Strategy::packed);
}

TEST(ProductPlan, AMatrixOutsideL1IsReadOnce) {
  const int64_t l1 = znver5().l1Bytes, columns = 1024, rowBytes = columns * 4;
  EXPECT_EQ(strategyOf({.shape = product(2, columns, l1 / rowBytes)}), Strategy::gemvAxpy);
  EXPECT_EQ(strategyOf({.shape = product(2, columns, l1 / rowBytes - 1)}), Strategy::packed) << "it is in L1";
  EXPECT_EQ(strategyOf({.shape = product(2, columns, 2), .nextBIsKnown = true}), Strategy::gemvAxpy)
      << "it is looked up";
  EXPECT_EQ(strategyOf({.shape = product(2, columns, 8), .blocksOfB = 4}), Strategy::gemvAxpy);
  EXPECT_EQ(strategyOf({.shape = product(3, columns, l1 / rowBytes)}), Strategy::gemvAxpy) << "32 registers";
  EXPECT_EQ(strategyOf({.shape = product(4, columns, 3 * l1 / rowBytes)}), Strategy::skinnyTiles);
  EXPECT_EQ(strategyOf({.shape = product(4, columns, 2 * l1 / rowBytes)}), Strategy::packed);
}

TEST(ProductPlan, AMatrixThatIsRoundedIsReadOnce) {
  GemmShape rounded = product(4, 128, 64);
  rounded.roundsB = true;
  EXPECT_EQ(strategyOf({.shape = rounded}), Strategy::skinnyTiles);
  EXPECT_EQ(text(planOf({.shape = rounded})),
            "4x128x64 f32·f32→f32: skinny GEMM, B rounded to bf16, tile 8x32, groups of 64 rows of 128 columns");
  rounded.m = 2;
  EXPECT_EQ(strategyOf({.shape = rounded}), Strategy::gemvAxpy);
}

TEST(ProductPlan, ProcessorsWithFewRegistersAddFewerRows) {
  const Processor haswell = *processorNamed("x86_64-unknown-linux-gnu/haswell");
  const GemmShape three = product(3, 1024, 1024);
  EXPECT_EQ(planProduct({.shape = three}, haswell).strategy(), Strategy::skinnyTiles);
  EXPECT_EQ(planProduct({.shape = three}, znver5()).strategy(), Strategy::gemvAxpy);
}

TEST(ProductPlan, ASingleBlockIsReadInStreamsOfPages) {
  Processor p = znver5();
  p.readStreams = 4;
  EXPECT_EQ(planProduct({.shape = product(1, 4096, 1024, true)}, p).streams, 4);
  EXPECT_EQ(planProduct({.shape = product(1, 4098, 1024, true)}, p).streams, 2) << "equal parts";
  EXPECT_EQ(planProduct({.shape = product(1, 8, 256, true)}, p).streams, 2) << "of a page at least";
  EXPECT_EQ(planProduct({.shape = product(1, 4096, 1024, true), .blocksOfB = 8}, p).streams, 1) << "blocks are streams";
  EXPECT_EQ(planProduct({.shape = product(8, 4096, 1024)}, p).streams, 1) << "tiles take row after row";
}

TEST(ProductPlan, Bf16PairsAreInOneStream) {
  Processor p = znver5();
  p.fastBf16Dot = true;
  const auto pairs = [&](int64_t n, int64_t k, bool transposed, int64_t blocks) {
    return planProduct({.shape = product(1, n, k, transposed, DType::bf16), .blocksOfB = blocks}, p);
  };
  EXPECT_TRUE(pairs(64, 64, true, 1).bf16Pairs);
  EXPECT_FALSE(pairs(64, 63, true, 1).bf16Pairs);
  EXPECT_TRUE(pairs(64, 64, false, 4).bf16Pairs);
  EXPECT_FALSE(pairs(64, 60, false, 4).bf16Pairs) << "15 rows in a block";
  EXPECT_TRUE(pairs(64, 63, true, 1).widensA);
  EXPECT_FALSE(pairs(64, 64, true, 1).widensA);
}

TEST(ProductPlan, PackedBIsCachedForFewRows) {
  const GemmShape shape = product(128, 512, 512);
  const auto caches = [&](GemmShape s, int64_t blocks) {
    return planOf({.shape = s, .rowBytesOfB = 4096, .reusedBlocksOfB = blocks}).shape.cachesPackedB;
  };
  EXPECT_FALSE(caches(shape, 0)) << "B is not reused soon";
  EXPECT_TRUE(caches(shape, 1));
  EXPECT_TRUE(caches(shape, 8)) << "1 MiB each";
  EXPECT_FALSE(caches(shape, 9)) << "more than 8 MiB";
  EXPECT_TRUE(caches(product(511, 512, 512), 1));
  EXPECT_FALSE(caches(product(512, 512, 512), 1)) << "for this many rows packing costs little";
}

TEST(ProductPlan, PackingDependsOnTheRowStride) {
  const auto packs = [](int64_t m, std::optional<int64_t> rowBytes) {
    return planOf({.shape = product(m, 512, 512), .rowBytesOfB = rowBytes}).packed().packsB;
  };
  EXPECT_EQ(packs(9, 4096), PacksB::never) << "few rows of C";
  EXPECT_EQ(packs(512, 1024), PacksB::never) << "small strides are read in place";
  EXPECT_EQ(packs(512, 4096), PacksB::always);
  EXPECT_EQ(packs(512, std::nullopt), PacksB::byDistance);
  EXPECT_EQ(packs(128, 4096), PacksB::always) << "pages share the sets of L1";
  EXPECT_EQ(packs(128, 4096 + 64), PacksB::never) << "whole lines in different sets";
  EXPECT_EQ(packs(128, 4096 + 4), PacksB::always);
}

TEST(ProductPlan, RowsArePrefetchedWhereHardwareDoesNot) {
  Processor p = znver5();
  p.l1Bytes = 32 << 10;
  p.readStreams = 1;
  const auto prefetched = [&](int64_t m, int64_t l2Bytes) {
    p.l2Bytes = l2Bytes;
    return planProduct({.shape = product(m, 256, 1024, true)}, p).prefetch;
  };
  EXPECT_EQ(prefetched(1, 1 << 20), (RowPrefetch{2, 0})) << "8 KiB ahead are 2 rows of 4 KiB";
  EXPECT_EQ(prefetched(1, 2 << 20), (RowPrefetch{2, 2})) << "into a large L2";
  EXPECT_EQ(prefetched(4, 1 << 20), (RowPrefetch{4, 4}))
      << "several rows are slow to multiply, and 4 rows are read together";
  p.readStreams = 4;
  EXPECT_EQ(prefetched(1, 2 << 20), RowPrefetch());
}

TEST(ProductPlan, IsDescribedInALine) {
  Processor p = znver5();
  p.readStreams = 4;
  EXPECT_EQ(text(planProduct({.shape = product(1, 4096, 1024, true)}, p)),
            "1x4096x1024 f32·f32→f32: GEMV by dot products, 4 streams, 1 x 4 rows together");
  EXPECT_EQ(text(planProduct({.shape = product(8, 128, 64, true), .blocksOfB = 8}, p)),
            "8x128x64 f32·f32→f32: GEMV by dot products, 8 interleaved blocks, 4 x 4 rows together");
  const ProductPlan packed = planProduct({.shape = product(512, 512, 512), .rowBytesOfB = 4096}, p);
  ProductPlan ofConvolution = packed;
  ofConvolution.of = "a convolution";
  EXPECT_TRUE(text(ofConvolution).starts_with("512x512x512 f32·f32→f32 of a convolution: tile "));
  EXPECT_TRUE(text(packed).ends_with(", B packed"));
}

}  // namespace
}  // namespace smalti::cpu
