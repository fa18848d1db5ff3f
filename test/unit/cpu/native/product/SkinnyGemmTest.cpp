// Products of few rows, which read their matrix row by row, and nests that process their rows in blocks.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "../../../LongTest.h"
#include "../SmallProducts.h"
#include "cpu/inspect/Inspect.h"
#include "cpu/plan/KernelPlan.h"

namespace smalti::cpu::testing {
namespace {

TextKernel product(const std::string& dtype, int64_t m, int64_t n, int64_t k, bool transposed) {
  const Shape rhs = transposed ? Shape{n, k} : Shape{k, n};
  TextKernel kernel;
  const Val a = kernel.input({.dtype = dtype, .array = {m, k}, .space = "vmem"}),
            b = kernel.input({.dtype = dtype, .array = rhs, .space = "vmem"}),
            c = kernel.output({.array = {m, n}, .space = "vmem"});
  const Val zero = kernel.splat(kernel.f32(0), {m, n});
  kernel.store(multiplied(kernel, kernel.load(a), kernel.load(b), transposed, zero), c);
  return kernel;
}

/// The product, after its native code has given the machine's bits.
TextKernel sameProduct(const std::string& dtype, int64_t m, int64_t n, int64_t k, bool transposed) {
  SCOPED_TRACE(fmt::format("{} {}x{}x{}{}", dtype, m, n, k, transposed ? " transposed" : ""));
  TextKernel kernel = product(dtype, m, n, k, transposed);
  same(kernel, {smallNumbers(dtype, {m, k}), smallNumbers(dtype, transposed ? Shape{n, k} : Shape{k, n})});
  return kernel;
}

TEST(SkinnyGemm, ProductsOfRowsAndSumsOfRows) {
  SMALTI_LONG_TEST();
  for (const char* dtype : {"f32", "bf16"})
    for (const bool transposed : {true, false})
      for (const int64_t m : {1, 3, 8})
        for (const auto& [n, k] : {std::pair<int64_t, int64_t>{5, 3}, {16, 16}, {40, 70}, {35, 15}, {9, 1}, {150, 400}})
          sameProduct(dtype, m, n, k, transposed);
}

/// Numbers whose rounding to bf16 is up, down, to even from both sides, out of range, and none at all.
Array roundedNumbers(const Shape& shape, bool special) {
  constexpr std::array<uint32_t, 8> kBits{0x3f808000, 0x3f818000, 0x3f807fff, 0x3f808001,
                                          0xbf818000, 0,          0x80000000, 0x40400000};
  constexpr std::array<uint32_t, 8> kSpecial{0x7f800001, 0x7fffffff, 0xffffffff, 0x7f7fffff,
                                             0x7f800000, 0xff800000, 1,          0x0000ffff};
  Array a = Array::allocate({DType::f32, shape}).value();
  for (int64_t i = 0; i < a.elements(); ++i) {
    const auto at = static_cast<size_t>(i % 7 + i / 11) % 8;
    const uint32_t bits = special && i % 29 == 0 ? kSpecial[at] : kBits[at];
    std::memcpy(a.data() + 4 * i, &bits, 4);
  }
  return a;
}

/// left · bf16(right), of which `right` is loaded from scratch in two pages, or from an input.
TextKernel roundedProduct(int64_t m, int64_t n, int64_t k, bool transposed, bool pages, bool keeps = false) {
  const Shape rhs = transposed ? Shape{n, k} : Shape{k, n}, parts{2, rhs[0] / 2, rhs[1]};
  TextKernel kernel;
  const Val a = kernel.input({.array = {m, k}, .space = "vmem"}),
            b = kernel.input({.array = pages ? parts : rhs, .space = "vmem"}),
            c = kernel.output({.array = {m, n}, .space = "vmem"});
  std::optional<Val> again;
  if (keeps) again = kernel.output({.array = {m, n}, .space = "vmem"});
  Val x;
  if (pages) {
    const Val buffer = kernel.scratch("f32", parts);
    kernel.store(kernel.load(b), buffer);
    x = kernel.load(buffer);
  } else {
    x = kernel.load(b);
  }
  const auto vector = [](const Shape& s, const char* dtype) {
    return fmt::format("vector<{}x{}>", fmt::join(s, "x"), dtype);
  };
  Val narrow = kernel.fresh(vector(pages ? parts : rhs, "bf16"));
  kernel.raw(fmt::format("{} = arith.truncf {} : {} to {}", narrow.name, x.name, x.type, narrow.type));
  if (pages) {
    const Val joined = kernel.fresh(vector(rhs, "bf16"));
    kernel.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", joined.name, narrow.name, narrow.type, joined.type));
    narrow = joined;
  }
  const Val zero = kernel.splat(kernel.f32(0), {m, n});
  const Val left = kernel.load(a);
  kernel.store(multiplied(kernel, left, narrow, transposed, zero), c);
  if (again) kernel.store(multiplied(kernel, left, narrow, transposed, zero), *again);
  return kernel;
}

TEST(SkinnyGemm, RoundTheirMatrixAsTheyReadIt) {
  SMALTI_LONG_TEST();
  NativeOptions options;
  options.processor.bf16Dot = options.processor.fastBf16Dot = false;
  for (const bool transposed : {true, false})
    for (const bool pages : {true, false})
      for (const int64_t m : {1, 3, 4, 8})
        for (const auto& [n, k] : {std::pair<int64_t, int64_t>{64, 128}, {128, 64}, {10, 6}, {36, 300}}) {
          SCOPED_TRACE(fmt::format("{}x{}x{}{}{}", m, n, k, transposed ? " transposed" : "", pages ? " in pages" : ""));
          const TextKernel kernel = roundedProduct(m, n, k, transposed, pages);
          const Shape rhs = transposed ? Shape{n, k} : Shape{k, n};
          const Array b = roundedNumbers(pages ? Shape{2, rhs[0] / 2, rhs[1]} : rhs, false);
          same(kernel, {smallNumbers("f32", {m, k}), b}, options);
          auto made = inspectNative(kernel.package(), options);
          ASSERT_TRUE(made) << made.error().str();
          const ProductPlan& plan = made->report.plan->products.at(0);
          EXPECT_TRUE(plan.shape.roundsB && plan.isSkinny()) << text(plan);
        }
}

TEST(SkinnyGemm, RoundedNaNsAndInfinitiesStayWhatTheyAre) {
  const TextKernel kernel = roundedProduct(4, 64, 128, true, true);
  const Array ones = f32Array({4, 128}, [](int64_t) { return 1.F; }), b = roundedNumbers({2, 32, 128}, true);
  const auto got = run(kernel, {ones, b});
  ASSERT_TRUE(got);
  for (int64_t row = 0; row < 64; ++row) {
    float sum = 0;  // NaN, an infinity, or finite: as the sum of the rounded elements
    for (int64_t i = 0; i < 128; ++i) {
      const float x = b.as<float>()[row * 128 + i];
      uint32_t bits = std::bit_cast<uint32_t>(x);
      bits += 0x7fff + (bits >> 16 & 1);
      sum += x != x ? x : std::bit_cast<float>(bits & 0xffff0000U);
    }
    const float result = got->at(0).as<float>()[row];
    EXPECT_EQ(result != result, sum != sum) << row;
    if (sum == sum && std::abs(sum) > 1e38F) {
      EXPECT_EQ(result, sum) << row;
    }
  }
}

TEST(SkinnyGemm, ARoundedMatrixThatIsReadTwiceIsStored) {
  auto made = inspectNative(roundedProduct(4, 64, 128, true, true, true).package(), {});
  ASSERT_TRUE(made) << made.error().str();
  EXPECT_FALSE(made->report.plan->products.at(0).shape.roundsB);
}

/// The inner loop goes along one row of the matrix: its loads follow each other. A short row of the left matrix stays
/// in registers meanwhile, and there is no inner loop.
TEST(SkinnyGemm, RowsAreReadOneAfterTheOther) {
  NativeOptions options;
  options.processor = processorNamed("x86_64-unknown-linux-gnu/znver4").value();
  for (const auto& [k, products] : {std::pair<int64_t, size_t>{4096, 4}, {128, 8}}) {
    auto made = inspectNative(product("f32", 1, 256, k, true).package(), options);
    ASSERT_TRUE(made) << made.error().str();
    const std::string& assembly = made->assembly;
    size_t found = 0;
    for (size_t at = 0; (at = assembly.find("vfmadd", at)) != std::string::npos; ++at) ++found;
    EXPECT_EQ(found, products);
    EXPECT_EQ(assembly.find("vpermt2ps"), std::string::npos);
  }
}

TEST(SkinnyGemm, PrefetchIntoALargeL2) {
  for (const bool transposed : {true, false})
    for (const bool large : {true, false}) {
      NativeOptions options;
      options.processor.readStreams = 1;
      options.processor.l2Bytes = int64_t{large ? 2 : 1} << 20;
      auto made = inspectNative(product("bf16", 1, 256, 4096, transposed).package(), options);
      ASSERT_TRUE(made) << made.error().str();
      EXPECT_EQ(made->report.plan->products.at(0).prefetch.withinBlock > 0, large);
      if (options.processor.isX86()) {
        EXPECT_EQ(made->assembly.find("prefetcht1") != std::string::npos, large);
      }
    }
}

/// While several rows are multiplied, or several rows of B are added together, hardware does not prefetch far enough
/// ahead.
TEST(SkinnyGemm, SeveralRowsArePrefetchedOnAnyProcessor) {
  for (const bool transposed : {true, false})
    for (const int64_t m : {3, 4}) {
      NativeOptions options;
      options.processor = processorNamed("x86_64-unknown-linux-gnu/znver4").value();
      auto made = inspectNative(product("f32", m, 1024, 4096, transposed).package(), options);
      ASSERT_TRUE(made) << made.error().str();
      EXPECT_EQ(made->report.plan->products.at(0).prefetch.withinBlock > 0, m == 4 || !transposed);
    }
}

/// Pairs follow each other in k, so there are none where k is odd, or a stream's part of it.
TEST(SkinnyGemm, Bf16IsMultipliedByPairsWhereThatIsFaster) {
  SMALTI_LONG_TEST();
  for (const auto& [name, fast] : {std::pair{"znver4", true}, std::pair{"sapphirerapids", false}})
    for (const int64_t k : {512, 511})
      for (const int64_t m : {1, 8})
        for (const bool transposed : {true, false}) {
          SCOPED_TRACE(fmt::format("{} {}x256x{}{}", name, m, k, transposed ? " transposed" : ""));
          NativeOptions options;
          options.processor = processorNamed(fmt::format("x86_64-unknown-linux-gnu/{}", name)).value();
          auto made = inspectNative(product("bf16", m, 256, k, transposed).package(), options);
          ASSERT_TRUE(made) << made.error().str();
          const bool pairs = fast && k % 2 == 0;
          EXPECT_EQ(made->report.plan->products.at(0).bf16Pairs, pairs);
        }
}

/// As many streams as divide the rows and are pages or more; and rows too long for their sums to stay in L1.
TEST(SkinnyGemm, MatricesAreReadInStreams) {
  SMALTI_LONG_TEST();
  NativeOptions options;
  options.processor.readStreams = 4;
  for (const char* dtype : {"f32", "bf16"})
    for (const int64_t m : {1, 2, 3, 7})
      for (const auto& [rows, columns, streams] :
           {std::tuple<int64_t, int64_t, int>{256, 128, 4}, {250, 131, 2}, {251, 128, 1}, {8, 9001, 4}, {300, 300, 0}})
        for (const bool transposed : {true, false}) {
          const int64_t n = transposed ? rows : columns, k = transposed ? columns : rows;
          SCOPED_TRACE(fmt::format("{} {}x{}x{}{}", dtype, m, n, k, transposed ? " transposed" : ""));
          const TextKernel kernel = product(dtype, m, n, k, transposed);
          same(kernel, {smallNumbers(dtype, {m, k}), smallNumbers(dtype, transposed ? Shape{n, k} : Shape{k, n})},
               options);
          if (streams == 0 || (m == 3 && !transposed)) continue;
          auto made = inspectNative(kernel.package(), options);
          ASSERT_TRUE(made) << made.error().str();
          if (made->report.plan->products.at(0).strategy() == Strategy::dotTiles) continue;
          if (m > 3 && !transposed) {
            const bool exceedsL1 = rows * columns * (dtype[0] == 'b' ? 2 : 4) >= options.processor.l1Bytes * 5 / 2;
            EXPECT_EQ(made->report.plan->products.at(0).strategy() == Strategy::skinnyTiles, exceedsL1);
            continue;
          }
          EXPECT_EQ(made->report.plan->products.at(0).streams, streams);
        }
}

/// Parts of k, the last of which is shorter, for A whose rows are longer than L1.
TEST(SkinnyGemm, DotProductsInPartsOfK) {
  SMALTI_LONG_TEST();
  for (const char* dtype : {"f32", "bf16"})
    for (const int64_t m : {4, 7, 8})
      for (const auto& [k, n] : {std::pair<int64_t, int64_t>{4096, 130}, {2310, 67}, {5001, 5}}) {
        SCOPED_TRACE(fmt::format("{} {}x{}x{}", dtype, m, n, k));
        auto made = inspectNative(sameProduct(dtype, m, n, k, true).package(), {});
        ASSERT_TRUE(made) << made.error().str();
        const ProductPlan& plan = made->report.plan->products.at(0);
        if (plan.strategy() == Strategy::gemvDot && std::string_view(dtype) == "f32") {
          EXPECT_GT(std::get<GemvDotPlan>(plan.division).partOfK, 0);
        }
      }
}

/// Rows of B that are added to C together, and rows that remain.
TEST(SkinnyGemm, SeveralLongRowsAreAddedTogether) {
  SMALTI_LONG_TEST();
  for (const char* dtype : {"f32", "bf16"})
    for (const int64_t m : {1, 2, 3})
      for (const auto& [k, n] : {std::pair<int64_t, int64_t>{63, 1500}, {130, 1024}, {9, 3001}})
        sameProduct(dtype, m, n, k, false);
}

/// More rows than a tile has, if B is too large to be packed for them.
TEST(SkinnyGemm, TilesOfUpToSixteenRows) {
  SMALTI_LONG_TEST();
  for (const char* dtype : {"f32", "bf16"})
    for (const int64_t m : {9, 13, 16}) sameProduct(dtype, m, 1061, 1030, false);
}

/// Groups of rows of several streams, with rows that remain in each.
TEST(SkinnyGemm, TilesReadInStreams) {
  SMALTI_LONG_TEST();
  for (const int most : {2, 4}) {
    NativeOptions options;
    options.processor.prefetchStreams = most;
    for (const char* dtype : {"f32", "bf16"})
      for (const int64_t m : {4, 8})
        for (const auto& [k, n, streams] :
             {std::tuple<int64_t, int64_t, int>{2048, 128, 4}, {2060, 100, 4}, {2054, 127, 2}, {2053, 128, 1}}) {
          SCOPED_TRACE(fmt::format("{} {}x{}x{} in at most {}", dtype, m, n, k, most));
          const TextKernel kernel = product(dtype, m, n, k, false);
          same(kernel, {smallNumbers(dtype, {m, k}), smallNumbers(dtype, {k, n})}, options);
          auto made = inspectNative(kernel.package(), options);
          ASSERT_TRUE(made) << made.error().str();
          const ProductPlan& plan = made->report.plan->products.at(0);
          ASSERT_EQ(plan.strategy(), Strategy::skinnyTiles);
          EXPECT_EQ(plan.streams, std::min(streams, most));
          EXPECT_EQ(std::get<SkinnyTilesPlan>(plan.division).streams, plan.streams);
        }
  }
}

/// Dot products of whole tiles, also on processors that have no tile registers: with A in registers or in memory, an
/// odd number of tiles, rows of A that are added, and sums of an earlier step.
TEST(SkinnyGemm, DotProductsInTileRegisters) {
  SMALTI_LONG_TEST();
  const NativeOptions options;
  for (const int64_t m : {4, 5, 8, 9, 16})
    for (const auto& [n, k] :
         {std::pair<int64_t, int64_t>{16, 32}, {48, 96}, {80, 128}, {32, 160}, {64, 1600}, {32, 4128}}) {
      SCOPED_TRACE(fmt::format("{}x{}x{}", m, n, k));
      const TextKernel kernel = product("bf16", m, n, k, true);
      same(kernel, {smallNumbers("bf16", {m, k}), smallNumbers("bf16", {n, k})}, options);
      auto made = inspectNative(kernel.package(), options);
      ASSERT_TRUE(made) << made.error().str();
      EXPECT_EQ(made->report.plan->products.at(0).strategy() == Strategy::dotTiles, hasTiles(options.processor));
    }
}

TEST(SkinnyGemm, DotProductsInTileRegistersAreAdded) {
  for (const int64_t m : {4, 7}) {
    TextKernel kernel;
    const Val a = kernel.input({.dtype = "bf16", .array = {m, 64}, .space = "vmem"}),
              b = kernel.input({.dtype = "bf16", .array = {32, 64}, .space = "vmem"}),
              start = kernel.input({.array = {m, 32}, .space = "vmem"}),
              c = kernel.output({.array = {m, 32}, .space = "vmem"});
    kernel.store(multiplied(kernel, kernel.load(a), kernel.load(b), true, kernel.load(start)), c);
    same(kernel, {smallNumbers("bf16", {m, 64}), smallNumbers("bf16", {32, 64}), smallNumbers("f32", {m, 32})});
  }
}

/// An infinity or a NaN reaches only the sums of its row, and 0 · ∞ is NaN.
TEST(SkinnyGemm, DotProductsInTileRegistersOfInfinitiesAndNaNs) {
  const TextKernel kernel = product("bf16", 8, 32, 64, true);
  Array a = smallNumbers("bf16", {8, 64}), b = smallNumbers("bf16", {32, 64});
  constexpr std::array<uint16_t, 4> kSpecial{0x7f80, 0xff80, 0x7fc0, 0xff81};
  for (int64_t i = 0; i < 4; ++i) {
    std::memcpy(a.data() + 2 * (64 * i + 17 * i), &kSpecial[static_cast<size_t>(i)], 2);
    std::memcpy(b.data() + 2 * (64 * (9 * i + 4) + 11 * i), &kSpecial[static_cast<size_t>(i % 2)], 2);
  }
  same(kernel, {a, b});
}

/// A step multiplies `m` queries by the page that the index map looks up.
TextKernel lookedUp(const std::string& dtype, int64_t m) {
  TextKernel kernel({5});
  const Val table = kernel.prefetch("i32", {5});
  const Val q = kernel.input({.dtype = dtype, .array = {m, 32}, .block = {m, 32}, .map = "%c0, %c0"}),
            pages = kernel.input({.dtype = dtype,
                                  .array = {128, 32},
                                  .block = {16, 32},
                                  .map = "%page, %c0",
                                  .lines = "%at = arith.index_cast %i : i32 to index\n"
                                           "%page = memref.load %p0[%at] : memref<5xi32, #tpu.memory_space<smem>>"}),
            out = kernel.output({.array = {5 * m, 16}, .block = {m, 16}, .map = "%i, %c0"});
  const Val zero = kernel.splat(kernel.f32(0), {m, 16});
  kernel.store(multiplied(kernel, kernel.load(q), kernel.load(pages), true, zero), out);
  return kernel;
}

/// Blocks that the index map looks up are prefetched; the last step has none after it.
TEST(SkinnyGemm, BlocksThatAreLookedUp) {
  const TextKernel kernel = lookedUp("f32", 1);
  for (const int streams : {1, 4}) {
    NativeOptions options;
    options.processor.readStreams = streams;
    auto made = inspectNative(kernel.package(), options);
    ASSERT_TRUE(made) << made.error().str();
    EXPECT_EQ(made->report.plan->products.at(0).prefetch.acrossSteps > 0, streams == 1);
  }
  const int32_t order[] = {7, 0, 3, 6, 1};
  const Array pages = i32Array({5}, [&](int64_t i) { return order[i]; });
  same(kernel, {pages, smallNumbers("f32", {1, 32}), smallNumbers("f32", {128, 32})});
  same(lookedUp("bf16", 8), {pages, smallNumbers("bf16", {8, 32}), smallNumbers("bf16", {128, 32})});
}

/// Two columns are swapped next to a reduction: loads see the values from before the stores.
TEST(RowBlocks, ValuesOfARowAreReadBeforeOneIsWritten) {
  for (const int64_t rows : {1, 7, 16, 37}) {
    TextKernel kernel;
    const Val in = kernel.input({.array = {rows, 33}, .space = "vmem"}),
              first = kernel.input({.array = {rows, 1}, .space = "vmem"});
    const Val a = kernel.output({.array = {rows, 1}, .space = "vmem"}),
              b = kernel.output({.array = {rows, 1}, .space = "vmem"}),
              out = kernel.output({.array = {rows, 33}, .space = "vmem"});
    kernel.store(kernel.load(first), a);
    kernel.store(kernel.splat(kernel.f32(3), {rows, 1}), b);
    const Val x = kernel.load(in), oldA = kernel.load(a), oldB = kernel.load(b);
    const Val start = kernel.splat(kernel.f32(0), {rows}), sum = kernel.fresh(start.type);
    kernel.raw(fmt::format("{} = vector.multi_reduction <add>, {}, {} [1] : {} to {}", sum.name, x.name, start.name,
                           x.type, sum.type));
    const Val column = kernel.fresh(oldA.type), wide = kernel.fresh(x.type);
    kernel.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", column.name, sum.name, sum.type, column.type));
    kernel.store(kernel.binary("arith.addf", oldB, column), a);
    kernel.store(oldA, b);
    kernel.raw(fmt::format("{} = vector.broadcast {} : {} to {}", wide.name, column.name, column.type, wide.type));
    kernel.store(kernel.binary("arith.subf", x, wide), out);
    same(kernel, {smallNumbers("f32", {rows, 33}), smallNumbers("f32", {rows, 1})});
  }
}

/// Zeros of both signs and NaN, wherever they stand among the lanes.
TEST(RowBlocks, ExtremesOfRowsOfZerosAndNaN) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t columns : {3, 16, 40, 64, 200})
    for (const char* kind : {"maximumf", "minimumf"})
      for (const float rest : {0.0F, -0.0F, -1.0F, 1.0F}) {
        SCOPED_TRACE(fmt::format("{} of {} columns of {}", kind, columns, rest));
        const float others[] = {0.0F, -0.0F, kNaN};
        const int64_t rows = 3 * columns;
        TextKernel kernel;
        const Val in = kernel.input({.array = {rows, columns}, .space = "vmem"}),
                  out = kernel.output({.array = {rows, 1}, .space = "vmem"});
        const Val x = kernel.load(in), start = kernel.splat(kernel.f32(kind[1] == 'a' ? -2 : 2), {rows});
        const Val extreme = kernel.fresh(start.type), column = kernel.fresh(fmt::format("vector<{}x1xf32>", rows));
        kernel.raw(fmt::format("{} = vector.multi_reduction <{}>, {}, {} [1] : {} to {}", extreme.name, kind, x.name,
                               start.name, x.type, start.type));
        kernel.raw(
            fmt::format("{} = vector.shape_cast {} : {} to {}", column.name, extreme.name, extreme.type, column.type));
        kernel.store(column, out);
        // Each lane in turn holds something else than the rest.
        same(kernel, {f32Array({rows, columns}, [&](int64_t i) {
               const int64_t row = i / columns, lane = i % columns;
               return row / 3 == lane ? others[row % 3] : rest;
             })});
      }
}

}  // namespace
}  // namespace smalti::cpu::testing
