// Packed right operands that are cached while steps use them repeatedly.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../Native.h"
#include "../RowKernels.h"
#include "../SmallProducts.h"
#include "cpu/inspect/Inspect.h"
#include "cpu/runtime/Pool.h"

namespace smalti::cpu::testing {
namespace {

constexpr int64_t kHeads = 2, kRowsOfA = 3, kColumns = 4;  // blocks of 32

/// x[j] · y[map]ᵀ and its row sums, which keep the grid's steps.
TextKernel products(const Shape& columns, const std::string& map) {
  TextKernel kernel({kHeads, kRowsOfA, kColumns});
  // Of the index maps: %at counts the rows of all heads, %seen the columns up to the diagonal.
  const std::string lines =
      "%rows = arith.constant 3 : i32\n%head = arith.muli %i, %rows : i32\n%at = arith.addi %head, %j : i32\n"
      "%seen = arith.minsi %j, %k : i32\n";
  const Val x = kernel.input({.array = {kRowsOfA * 32, 32}, .block = {32, 32}, .map = "%j, %c0"}),
            y = kernel.input({.array = columns, .block = {1, 32, 32}, .map = map, .lines = lines}),
            o = kernel.output({.array = {kHeads * kRowsOfA * 32, kColumns * 32},
                               .block = {32, 32},
                               .map = "%at, %k",
                               .lines = lines});
  const Val a = kernel.load(x);
  const Val b = kernel.load(y), matrix = kernel.fresh("vector<32x32xf32>");
  kernel.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", matrix.name, b.name, b.type, matrix.type));
  const Val r = multiplied(kernel, a, matrix, true, kernel.splat(kernel.f32(0), {32, 32}));
  kernel.store(kernel.binary("arith.addf", reducedRows(kernel, "add", r, {32, 32}, 0), r), o);
  return kernel;
}

void run(const Shape& columns, const std::string& map, bool kept) {
  const TextKernel kernel = products(columns, map);
  same(kernel, {smallNumbers("f32", {kRowsOfA * 32, 32}), smallNumbers("f32", columns)});
  const auto code = native(kernel);
  ASSERT_TRUE(code);
  ASSERT_EQ(code->report().matmuls.size(), 1U);
  EXPECT_EQ(code->report().matmuls[0].ends_with(", packed B cached"), kept) << code->report().matmuls[0];
}

TEST(CachedPackedB, EveryBlockOfRowsUsesAllBlocksOfColumns) { run({kHeads, 128, 32}, "%i, %k, %c0", true); }

TEST(CachedPackedB, EveryBlockOfRowsUsesSomeBlocksOfColumns) { run({kHeads, 128, 32}, "%i, %seen, %c0", true); }

TEST(CachedPackedB, NoneIfNoBlockIsUsedAgain) { run({kHeads * kRowsOfA, 128, 32}, "%at, %k, %c0", false); }

/// Two products of one right operand, whose few rows and many rows are read and packed in their own ways.
TEST(CachedPackedB, SkinnyAndOtherProductsShareIt) {
  constexpr int64_t kDepth = 96, kWide = 384;
  TextKernel kernel({3});
  const auto left = [&](int64_t rows) {
    return kernel.input({.array = {3 * rows, kDepth}, .block = {rows, kDepth}, .map = "%i, %c0"});
  };
  const Val few = left(64), many = left(160);
  const Val y = kernel.input({.array = {kDepth, kWide}, .block = {kDepth, kWide}, .map = "%c0, %c0"});
  for (const auto& [x, rows] : {std::pair{few, 64}, std::pair{many, 160}}) {
    const Val o = kernel.output({.array = {3 * rows, kWide}, .block = {rows, kWide}, .map = "%i, %c0"});
    const Val product =
        multiplied(kernel, kernel.load(x), kernel.load(y), false, kernel.splat(kernel.f32(0), {rows, kWide}));
    kernel.store(kernel.binary("arith.addf", product, product), o);
  }
  same(kernel, {smallNumbers("f32", {3 * 64, kDepth}), smallNumbers("f32", {3 * 160, kDepth}, 1),
                smallNumbers("f32", {kDepth, kWide}, 2)});
}

/// Where the stride of its rows is large but maps them to different sets of L1, few rows are multiplied with B in
/// place: nothing is packed or cached.
TEST(CachedPackedB, NoneIfItIsReadInPlace) {
  if (availableCores() == 1) GTEST_SKIP() << "one core computes all steps as one product, which has many rows";
  constexpr int64_t kTall = 64, kDepth = 96;
  for (const auto& [wide, packs] : {std::pair{384, false}, std::pair{1024, true}}) {
    TextKernel kernel({3});
    const Val x = kernel.input({.array = {3 * kTall, kDepth}, .block = {kTall, kDepth}, .map = "%i, %c0"}),
              y = kernel.input({.array = {kDepth, wide}, .block = {kDepth, wide}, .map = "%c0, %c0"}),
              o = kernel.output({.array = {3 * kTall, wide}, .block = {kTall, wide}, .map = "%i, %c0"});
    const Val product =
        multiplied(kernel, kernel.load(x), kernel.load(y), false, kernel.splat(kernel.f32(0), {kTall, wide}));
    kernel.store(kernel.binary("arith.addf", reducedRows(kernel, "add", product, {kTall, wide}, 0), product), o);
    NativeOptions options;
    options.processor = processorNamed("x86_64-unknown-linux-gnu/sapphirerapids").value();
    auto made = inspectNative(kernel.package(), options);
    ASSERT_TRUE(made) << made.error().str();
    ASSERT_EQ(made->report.matmuls.size(), 1U);
    const std::string& line = made->report.matmuls[0];
    EXPECT_EQ(line.ends_with(", packed B cached"), packs) << line;
    EXPECT_EQ(line.find("B packed"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace smalti::cpu::testing
