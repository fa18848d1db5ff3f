// Products of few rows, which read their matrix row by row, and nests whose rows go through their phases in groups.
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "SmallProducts.h"
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

TEST(SkinnyGemm, ProductsOfRowsAndSumsOfRows) {
  for (const char* dtype : {"f32", "bf16"})
    for (const bool transposed : {true, false})
      for (const int64_t m : {1, 3, 8})
        for (const auto& [n, k] :
             {std::pair<int64_t, int64_t>{5, 3}, {16, 16}, {40, 70}, {35, 15}, {9, 1}, {150, 400}}) {
          SCOPED_TRACE(fmt::format("{} {}x{}x{}{}", dtype, m, n, k, transposed ? " transposed" : ""));
          same(product(dtype, m, n, k, transposed),
               {smallNumbers(dtype, {m, k}), smallNumbers(dtype, transposed ? Shape{n, k} : Shape{k, n})});
        }
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

TEST(SkinnyGemm, RowsAreFetchedAheadWhereTheSecondCacheIsLarge) {
  if (!hostProcessor().triple.starts_with("x86_64")) GTEST_SKIP() << "prefetcht0 and prefetcht1 are of x86";
  for (const bool transposed : {true, false})
    for (const bool large : {true, false}) {
      NativeOptions options;
      options.processor.readStreams = 1;
      options.processor.l2Bytes = int64_t{large ? 2 : 1} << 20;
      auto made = inspectNative(product("bf16", 1, 256, 4096, transposed).package(), options);
      ASSERT_TRUE(made) << made.error().str();
      EXPECT_EQ(made->assembly.find("prefetcht1") != std::string::npos, large);
      EXPECT_EQ(made->assembly.find("prefetcht0"), std::string::npos);
    }
}

/// Multiplying several rows takes longer than the processor looks ahead.
TEST(SkinnyGemm, SeveralRowsFetchAheadOnAnyProcessor) {
  for (const bool transposed : {true, false})
    for (const int64_t m : {3, 4}) {
      NativeOptions options;
      options.processor = processorNamed("x86_64-unknown-linux-gnu/znver4").value();
      auto made = inspectNative(product("f32", m, 256, 4096, transposed).package(), options);
      ASSERT_TRUE(made) << made.error().str();
      EXPECT_EQ(made->assembly.find("prefetcht1") != std::string::npos, m == 4);
      EXPECT_EQ(made->assembly.find("prefetcht0"), std::string::npos);
    }
}

/// Pairs follow each other in k, so there are none where k is odd, or a stream's part of it.
TEST(SkinnyGemm, Bf16IsMultipliedByPairsWhereThatIsFaster) {
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
          EXPECT_EQ(made->assembly.find("vdpbf16ps") != std::string::npos, pairs);
        }
}

/// As many streams as divide the rows and are pages or more; and rows longer than the first cache keeps sums of.
TEST(SkinnyGemm, MatricesAreReadInStreams) {
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
          if (m > 3 && !transposed) {
            const bool isFar = rows * columns * (dtype[0] == 'b' ? 2 : 4) >= options.processor.l1Bytes * 5 / 2;
            EXPECT_EQ(made->report.plan->products.at(0).strategy == Strategy::skinnyTiles, isFar);
            continue;
          }
          EXPECT_EQ(made->report.plan->products.at(0).streams, streams);
        }
}

/// Blocks that the index map looks up are fetched ahead; the last step has none after it.
TEST(SkinnyGemm, BlocksThatAreLookedUp) {
  TextKernel kernel({5});
  const Val table = kernel.prefetch("i32", {5});
  const Val q = kernel.input({.array = {1, 32}, .block = {1, 32}, .map = "%c0, %c0"}),
            pages = kernel.input({.array = {128, 32},
                                  .block = {16, 32},
                                  .map = "%page, %c0",
                                  .lines = "%at = arith.index_cast %i : i32 to index\n"
                                           "%page = memref.load %p0[%at] : memref<5xi32, #tpu.memory_space<smem>>"}),
            out = kernel.output({.array = {5, 16}, .block = {1, 16}, .map = "%i, %c0"});
  const Val zero = kernel.splat(kernel.f32(0), {1, 16});
  kernel.store(multiplied(kernel, kernel.load(q), kernel.load(pages), true, zero), out);
  if (hostProcessor().triple.starts_with("x86_64")) {
    for (const int streams : {1, 4}) {
      NativeOptions options;
      options.processor.readStreams = streams;
      auto made = inspectNative(kernel.package(), options);
      ASSERT_TRUE(made) << made.error().str();
      EXPECT_EQ(made->assembly.find("prefetcht1") != std::string::npos, streams == 1);
    }
  }
  const int32_t order[] = {7, 0, 3, 6, 1};
  same(kernel, {i32Array({5}, [&](int64_t i) { return order[i]; }), smallNumbers("f32", {1, 32}),
                smallNumbers("f32", {128, 32})});
}

/// Two columns change places beside a reduction, and what is stored first is not what is loaded after.
TEST(NativeGroups, ValuesOfARowAreReadBeforeOneIsWritten) {
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
TEST(NativeGroups, ExtremesOfRowsOfZerosAndNaN) {
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
