#include <array>
#include <limits>

#include "../../LongTest.h"
#include "GemmHarness.h"
#include "cpu/plan/product/TileLayout.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"

namespace smalti::cpu {
namespace {

struct Types {
  DType a, b, c;
};
constexpr std::array kTypes{Types{DType::f32, DType::f32, DType::f32}, Types{DType::bf16, DType::bf16, DType::f32},
                            Types{DType::f16, DType::f16, DType::f32}, Types{DType::bf16, DType::f32, DType::f32},
                            Types{DType::f32, DType::f16, DType::f32}, Types{DType::f32, DType::bf16, DType::f32},
                            Types{DType::i8, DType::i8, DType::i32},   Types{DType::u8, DType::u8, DType::i32},
                            Types{DType::u8, DType::i8, DType::i32},   Types{DType::i8, DType::u8, DType::i32}};

void checkShape(GemmShape s, int64_t extra, unsigned seed, const Processor& processor = hostProcessor()) {
  const CompiledGemm compiled = compileGemm(s, processor);
  if (compiled.run) GemmCase(s, extra, seed).check(compiled.run, processor);
}

/// Every type on one shape, with these transpositions and kinds of sum.
void checkAll(int64_t m, int64_t n, int64_t k, int64_t extra, std::initializer_list<int> all) {
  for (const Types& t : kTypes)
    for (const int flags : all)
      checkShape({m, n, k, t.a, t.b, t.c, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0}, extra, flags);
}

TEST(Gemm, OneElement) { checkAll(1, 1, 1, 0, {0, 7}); }
TEST(Gemm, Primes) {
  SMALTI_LONG_TEST();
  checkAll(13, 71, 37, 0, {0, 1, 2, 3, 4, 5, 6, 7});
}
TEST(Gemm, PrimesOnAWindow) {
  SMALTI_LONG_TEST();
  checkAll(19, 131, 101, 5, {0, 3});
}
TEST(Gemm, TilesThatFit) { checkAll(24, 128, 64, 0, {0, 7}); }
TEST(Gemm, OneRow) { checkAll(1, 200, 67, 0, {0, 2}); }
TEST(Gemm, OneColumn) { checkAll(77, 1, 50, 3, {0, 1}); }

TEST(Gemm, RandomShapes) {
  SMALTI_LONG_TEST();
  std::mt19937 engine(7);
  const auto draw = [&](int most) { return std::uniform_int_distribution<int64_t>(1, most)(engine); };
  for (int i = 0; i < 40; ++i) {
    const Types& t = kTypes[draw(kTypes.size()) - 1];
    const int64_t flags = draw(8) - 1;
    const GemmShape s{draw(100),        draw(300),        draw(300),       t.a, t.b, t.c,
                      (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0};
    checkShape(s, draw(3) == 1 ? 0 : draw(600), i);
  }
}

TEST(Gemm, SeveralBlocks) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  Processor p = hostProcessor();  // as if it had caches for a few tiles
  p.l2Bytes = 128 << 10;
  p.l3Bytes = 2 << 20;
  for (const Types& t : kTypes)
    for (const int flags : {0, 3}) {
      const int64_t k = t.c == DType::i32 ? 4133 : 2061;
      checkShape({70, 150, k, t.a, t.b, t.c, (flags & 1) != 0, (flags & 2) != 0, flags != 0}, 2, flags, p);
    }
}

TEST(Gemm, RowsWithALargeStrideArePacked) {
  const GemmShape s{40, 70, 33};
  const CompiledGemm compiled = compileGemm(s);
  ASSERT_NE(compiled.run, nullptr);
  GemmCase(s, 0, 1).check(compiled.run);
  GemmCase(s, 1000, 2).check(compiled.run);
}

/// With two FMA ports and enough registers: in products of few rows, panels stay in L1, and rows of B are read in
/// place, unless they share its sets or begin within cache lines.
TEST(Gemm, FewRowsHaveShallowBlocks) {
  Processor p = *processorNamed("x86_64-linux-gnu/sapphirerapids");
  ASSERT_EQ(p.fmaPorts, 2);
  p.l1Bytes = 48 << 10;
  const GemmShape few{100, 384, 700}, many{300, 384, 700};
  EXPECT_EQ(planGemm(few, p).blockDepth, 144);
  EXPECT_TRUE(planGemm(few, p).mayUseUnpackedB);
  EXPECT_EQ(planGemm(many, p).blockDepth, 700);
  EXPECT_FALSE(planGemm(many, p).mayUseUnpackedB);
  EXPECT_FALSE(planGemm({100, 384, 700, DType::bf16, DType::bf16}, p).mayUseUnpackedB) << "its elements are converted";
  Processor here = hostProcessor();
  if (here.vectorRegisters < 32) GTEST_SKIP() << "this processor has too few registers to run them";
  here.fmaPorts = p.fmaPorts;
  here.l1Bytes = p.l1Bytes;
  for (const GemmShape& s : {few, GemmShape{100, 394, 700}, GemmShape{64, 384, 700, DType::f32, DType::bf16}})
    for (const int64_t stride : {s.n, 400L, 512L, 515L, 1024L})
      if (stride >= s.n) checkShape(s, stride - s.n, 3, here);
}

TEST(Gemm, EmptySumIsZeroOrLeavesC) {
  for (const bool accumulate : {false, true})
    for (const Types& t : kTypes) checkShape({5, 70, 0, t.a, t.b, t.c, false, false, accumulate}, 3, 1);
}

TEST(Gemm, SumsOfIntegersWrap) {
  for (const DType type : {DType::i8, DType::u8}) {
    const GemmShape s{2, 16, 140000, type, type, DType::i32, false, false, true};
    GemmCase g(s, 0, 3);
    std::memset(g.a.memory.data(), type == DType::i8 ? 0x80 : 0xff, g.a.memory.size());
    std::memset(g.b.memory.data(), type == DType::i8 ? 0x80 : 0xff, g.b.memory.size());
    const CompiledGemm compiled = compileGemm(s);
    ASSERT_NE(compiled.run, nullptr);
    g.check(compiled.run);
  }
}

TEST(Gemm, NanAndInfinityArriveWhereTheyBelong) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& [left, right] : {std::pair{DType::f32, DType::f32},
                                    {DType::bf16, DType::bf16},
                                    {DType::f16, DType::f16},
                                    {DType::f32, DType::bf16}})
    for (const int64_t m : {3, 50}) {
      const GemmShape s{m, 70, 21, left, right};
      GemmCase g(s, 0, 3);
      setElement(g.a.at(1, 20), left, std::numeric_limits<float>::quiet_NaN());
      setElement(g.b.at(3, 69), right, kInfinity);
      for (int64_t i = 0; i < m; ++i) setElement(g.a.at(i, 3), left, i == 2 ? -1.f : 1.f);
      const CompiledGemm compiled = compileGemm(s);
      ASSERT_NE(compiled.run, nullptr);
      Guarded workspace((planGemm(s, hostProcessor()).packedBytes + 63) / 64 * 64);
      compiled.run(g.a.memory.data(), 21, g.b.memory.data(), 70, g.c.memory.data(), 70, workspace.data());
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < 70; ++j) {
          const double v = g.c.value(i, j);
          const bool asExpected = i == 1    ? std::isnan(v)
                                  : j == 69 ? v == (i == 2 ? -kInfinity : kInfinity)
                                            : std::isfinite(v);
          EXPECT_TRUE(asExpected) << name(left) << " " << i << " " << j << ": " << v;
        }
    }
}

TEST(Gemm, HalfDenormalsAreValues) {
  const GemmShape s{1, 1, 1, DType::f16, DType::f16};
  GemmCase g(s, 0, 3);
  setElement(g.a.at(0, 0), DType::f16, 0x1p-24f);
  setElement(g.b.at(0, 0), DType::f16, 1024);
  Processor plain = *processorNamed("x86-64");
  for (const Processor& p : {hostProcessor(), plain}) {
    const CompiledGemm compiled = compileGemm(s, p);
    ASSERT_NE(compiled.run, nullptr);
    g.check(compiled.run, p);
    EXPECT_EQ(g.c.value(0, 0), 0x1p-14);
  }
}

/// The instructions of lesser processors, where this one has them too.
TEST(Gemm, NarrowerVectorsGiveTheSame) {
  SMALTI_LONG_TEST();
  for (const char* processorName : {"haswell", "x86-64"}) {
    auto p = processorNamed(processorName);
    ASSERT_TRUE(p);
    if (p->triple != hostProcessor().triple || p->vectorBytes > hostProcessor().vectorBytes) GTEST_SKIP();
    for (const Types& t : kTypes)
      for (const int flags : {0, 3})
        checkShape({23, 45, 37, t.a, t.b, t.c, (flags & 1) != 0, (flags & 2) != 0, true}, 2, flags, *p);
  }
}

/// Few registers: A is packed by tiles, the last of which is lower, in several blocks of rows and of k.
TEST(Gemm, TilesOfAAreStreams) {
  SMALTI_LONG_TEST();
  auto p = processorNamed("haswell");
  ASSERT_TRUE(p);
  if (p->triple != hostProcessor().triple || p->vectorBytes > hostProcessor().vectorBytes)
    GTEST_SKIP() << "this processor lacks AVX2";
  p->l2Bytes = 128 << 10;
  for (const Types& t : kTypes)
    for (const int flags : {0, 2}) {
      const GemmShape s{77, 213, t.c == DType::i32 ? 1601 : 803, t.a, t.b, t.c, false, (flags & 2) != 0, flags != 0};
      const GemmPlan plan = planGemm(s, *p);
      EXPECT_TRUE(plan.packsA);
      EXPECT_LT(plan.blockRows, s.m);
      EXPECT_LT(plan.blockDepth, s.k);
      checkShape(s, 3, flags, *p);
    }
  EXPECT_FALSE(planGemm({77, 100, 803}, *p).packsA) << "too few columns for the copy to pay";
}

TEST(Gemm, ProcessorsWithoutDotProductsGiveTheSame) {
  SMALTI_LONG_TEST();
  Processor p = hostProcessor();
  p.int8Dot = p.bf16Dot = p.fastBf16Dot = false;
  for (const Types& t : kTypes)
    for (const int flags : {0, 3})
      checkShape({23, 75, 37, t.a, t.b, t.c, (flags & 1) != 0, (flags & 2) != 0, false}, 2, flags, p);
}

TEST(Gemm, CompilesForOtherProcessors) {
  SMALTI_LONG_TEST_OF_GENERATED_CODE();
  for (const char* processorName :
       {"haswell", "sapphirerapids", "znver4", "x86-64", "alderlake", "aarch64-linux-gnu/neoverse-n1"}) {
    auto p = processorNamed(processorName);
    ASSERT_TRUE(p) << processorName;
    for (const Types& t : kTypes) {
      std::string symbol;
      auto object = gemmObject({50, 70, 35, t.a, t.b, t.c, true, true, true}, *p, symbol);
      EXPECT_TRUE(object) << processorName << ": " << (object ? "" : object.error().str());
      object = gemmObject({50, 70, 35, t.a, t.b, t.c}, *p, symbol);
      EXPECT_TRUE(object) << processorName << ": " << (object ? "" : object.error().str());
    }
  }
}

TEST(Gemm, CodeDoesNotGrowWithTheShape) {
  CompileReport small, large;
  for (const auto& [n, report] : {std::pair{192, &small}, std::pair{4224, &large}}) {
    ModuleBuilder builder(hostProcessor(), "gemm");
    emitGemm(*builder.module, planGemm({n, n, n}, hostProcessor()))->setLinkage(llvm::GlobalValue::ExternalLinkage);
    ASSERT_TRUE(generateObject(std::move(builder), hostProcessor(), report));
  }
  EXPECT_LE(large.objectBytes, small.objectBytes + 4096);
}

/// Two products of one B, which the second finds packed: the same bits as without.
TEST(Gemm, CachedPackedBServesLaterProducts) {
  SMALTI_LONG_TEST();
  for (const DType type : {DType::f32, DType::bf16, DType::i8}) {
    GemmShape shape{100, 200, 2100, type, type, type == DType::i8 ? DType::i32 : DType::f32}, few = shape;
    // Fewer rows for which this processor packs B in the same way: others are not given what was kept.
    const auto packing = [](const GemmShape& s) {
      GemmShape kept = s;
      kept.cachesPackedB = true;
      const GemmPlan plan = planGemm(kept, hostProcessor());
      return std::tuple{plan.packsB, plan.blockDepth, plan.tileColumns, plan.mayUseUnpackedB, plan.usesTiles()};
    };
    for (few.m = 17; packing(few) != packing(shape);) ++few.m;
    ASSERT_LT(few.m, shape.m) << name(type);
    std::vector<std::vector<char>> results;
    for (const bool keeps : {false, true}) {
      std::vector<char> workspace, kept;
      bool packed = false;
      for (GemmShape s : {shape, few}) {
        s.cachesPackedB = keeps;
        GemmCase given(shape, 601, 5);  // rows of no whole cache lines, which would be read in place
        const GemmPlan plan = planGemm(s, hostProcessor());
        if (!keeps || !plan.packsB) s.cachesPackedB = false;
        const CompiledGemm gemm = compileGemm(s);
        ASSERT_TRUE(gemm.run);
        workspace.resize(static_cast<size_t>(plan.packedBytes) + 64);
        kept.resize(static_cast<size_t>(plan.packedCacheBytes) + 64);
        const auto aligned = [](std::vector<char>& v) {
          return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(v.data()) + 63) / 64 * 64);
        };
        if (packed && s.cachesPackedB) std::memset(given.b.memory.data(), 0, given.b.memory.size());
        using Kept = void(const void*, int64_t, const void*, int64_t, void*, int64_t, void*, void*, bool);
        if (s.cachesPackedB)
          gemm.as<Kept>()(given.a.at(0, 0), given.a.stride, given.b.at(0, 0), given.b.stride, given.c.at(0, 0),
                          given.c.stride, aligned(workspace), aligned(kept), packed);
        else
          gemm.run(given.a.at(0, 0), given.a.stride, given.b.at(0, 0), given.b.stride, given.c.at(0, 0), given.c.stride,
                   aligned(workspace));
        packed = true;
        results.emplace_back(given.c.memory.data(), given.c.memory.data() + given.c.memory.size());
      }
    }
    EXPECT_EQ(results[0], results[2]) << name(type);
    EXPECT_EQ(results[1], results[3]) << name(type);
  }
}

/// Edges of tiles in every dimension, in one block and in several.
TEST(Gemm, TileRegistersEndAnywhere) {
  Processor p = hostProcessor();
  if (!hasTiles(p)) GTEST_SKIP() << "this processor has none";
  EXPECT_TRUE(planGemm({64, 64, 64, DType::bf16, DType::bf16}, p).usesTiles());
  EXPECT_TRUE(planGemm({64, 64, 64, DType::f32, DType::bf16}, p).usesTiles());
  EXPECT_TRUE(planGemm({64, 64, 64, DType::u8, DType::i8, DType::i32}, p).usesTiles());
  EXPECT_FALSE(planGemm({64, 64, 64}, p).usesTiles());
  EXPECT_FALSE(planGemm({2, 64, 64, DType::bf16, DType::bf16}, p).usesTiles()) << "most of a tile would be empty";
  for (const bool small : {false, true}) {
    if (small) p.l2Bytes = 64 << 10;
    for (const Types& t : {kTypes[1], kTypes[5], kTypes[6], kTypes[9]})
      for (const auto& [m, n, k, flags] : {std::tuple{4, 1, 16, 0},
                                           {16, 16, 64, 2},
                                           {17, 33, 31, 6},
                                           {31, 15, 65, 4},
                                           {33, 47, 64, 0},
                                           {70, 64, 129, 2}})
        checkShape({m, n, k * (small ? 33 : 1), t.a, t.b, t.c, false, (flags & 2) != 0, (flags & 4) != 0}, flags, 5, p);
  }
  EXPECT_FALSE(planGemm({64, 64, 64, DType::bf16, DType::bf16}, withoutTiles(p)).usesTiles());
}

/// An f32 on the left is the sum of three bf16: what is no number, and what a bf16 would round to infinity, stays so.
TEST(Gemm, TileRegistersTakeEveryF32) {
  if (!hasTiles(hostProcessor())) GTEST_SKIP() << "this processor has none";
  const GemmShape s{16, 16, 32, DType::f32, DType::bf16};
  ASSERT_TRUE(planGemm(s, hostProcessor()).usesTiles());
  const CompiledGemm gemm = compileGemm(s);
  ASSERT_TRUE(gemm.run);
  GemmCase given(s, 0, 1);
  constexpr float kMax = std::numeric_limits<float>::max(), kInfinity = std::numeric_limits<float>::infinity();
  const std::array values{kMax, -kMax, kInfinity, -kInfinity, std::nanf(""), 1.0F + 0x1p-23F, 0x1.abcdeep-60F, -0.0F};
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t k = 0; k < s.k; ++k)
      setElement(given.a.at(i, k), DType::f32, k == 3 && i < std::ssize(values) ? values[static_cast<size_t>(i)] : 0);
  for (int64_t j = 0; j < s.n; ++j) setElement(given.b.at(3, j), DType::bf16, 1);
  alignas(64) std::array<char, 1 << 16> workspace;
  ASSERT_LE(planGemm(s, hostProcessor()).packedBytes, std::ssize(workspace));
  gemm.run(given.a.at(0, 0), given.a.stride, given.b.at(0, 0), given.b.stride, given.c.at(0, 0), given.c.stride,
           workspace.data());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto got = static_cast<float>(given.c.value(static_cast<int64_t>(i), 5));
    if (std::isnan(values[i]))
      EXPECT_TRUE(std::isnan(got));
    else
      EXPECT_EQ(got, values[i]);
  }
}

TEST(Gemm, ARowIsAddedAsIfItHadBeenThere) {
  SMALTI_LONG_TEST();
  for (const DType type : {DType::f32, DType::bf16, DType::i8})
    for (const int64_t k : {37, 2500}) {
      std::vector<std::vector<char>> results;
      for (const bool addsRow : {false, true}) {
        GemmShape s{75, 139, k, type, type, type == DType::i8 ? DType::i32 : DType::f32};
        GemmCase given(s, 150, 5);
        std::vector<char> row(static_cast<size_t>(4 * s.n));
        for (int64_t j = 0; j < s.n; ++j) setElement(&row[static_cast<size_t>(4 * j)], s.c, static_cast<float>(j % 7));
        for (int64_t i = 0; i < s.m; ++i) std::memcpy(given.c.at(i, 0), row.data(), row.size());
        s.accumulate = !addsRow;
        s.addsRow = addsRow;
        const CompiledGemm gemm = compileGemm(s);
        ASSERT_TRUE(gemm.run);
        std::vector<char> workspace(static_cast<size_t>(planGemm(s, hostProcessor()).packedBytes) + 64);
        void* aligned = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64);
        using WithRow = void(const void*, int64_t, const void*, int64_t, void*, int64_t, void*, const void*);
        gemm.as<WithRow>()(given.a.at(0, 0), given.a.stride, given.b.at(0, 0), given.b.stride, given.c.at(0, 0),
                           given.c.stride, aligned, row.data());
        results.emplace_back(given.c.memory.data(), given.c.memory.data() + given.c.memory.size());
      }
      EXPECT_EQ(results[0], results[1]) << name(type) << ' ' << k;
    }
}

TEST(Gemm, ThePlanMatchesTheCode) {
  const Processor p = *processorNamed("znver4");
  const GemmPlan f32 = planGemm({1024, 1024, 1024}, p);
  EXPECT_EQ(f32.tileRows, 6);
  EXPECT_EQ(f32.tileColumns, 64);
  EXPECT_LE(f32.blockDepth, 1024);
  EXPECT_EQ(f32.blockRows % 6, 0);
  EXPECT_TRUE(f32.packsB);
  EXPECT_FALSE(f32.packsA);
  EXPECT_TRUE(planGemm({64, 64, 64, DType::bf16, DType::bf16}, p).usesDot);
  EXPECT_FALSE(planGemm({8, 128, 128}, p).packsB);
  EXPECT_EQ(planGemm({8, 128, 128}, p).packedBytes, 0);
}

TEST(Gemm, OneMultiplicationPerCycleTakesFourRowsOfShallowPanels) {
  EXPECT_EQ(planGemm({512, 512, 512}, *processorNamed("znver4")).tileRows, 4);
  EXPECT_EQ(planGemm({512, 512, 512}, *processorNamed("sapphirerapids")).tileRows, 6);
}

/// Rows of B on their way into a panel; C, and where the next tile's rows of A begin, where a tile takes long.
TEST(Gemm, TilesPrefetchTheirOperandsAndResults) {
  const Processor p = *processorNamed("znver4");
  const auto prefetches = [&](int64_t k, bool packing) {
    ModuleBuilder builder(p, "gemm");
    emitGemm(*builder.module, planGemm({64, 128, k, DType::i8, DType::i8, DType::i32}, p));
    int count = 0;
    for (const llvm::Function& f : *builder.module) {
      if (!f.getName().starts_with("smalti_kernel") || f.getName().contains("_packs_") != packing) continue;
      for (const llvm::Instruction& i : llvm::instructions(f))
        if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&i))
          count += call->getIntrinsicID() == llvm::Intrinsic::prefetch;
    }
    return count;
  };
  constexpr int kUnit = 4, kTileOfC = 4 * 4, kRowsOfA = 4 * 8;  // lines
  EXPECT_EQ(prefetches(256, true), kUnit);
  EXPECT_EQ(prefetches(1024, true), kUnit + kTileOfC + kRowsOfA);
  EXPECT_EQ(prefetches(1024, false), prefetches(256, false) + kTileOfC + kRowsOfA);
}

}  // namespace
}  // namespace smalti::cpu
