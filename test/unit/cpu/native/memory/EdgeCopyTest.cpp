// Partial blocks that keep their sizes: what is inside is copied, the rest is undefined.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../Native.h"

namespace smalti::cpu::testing {
namespace {

/// Blocks of `x` as they are seen, side by side in a result that has room for all of them.
Array seen(const Spec& x, const std::vector<int64_t>& grid, const Array& operand) {
  TextKernel k(grid);
  Spec all{.array = x.block, .block = x.block, .map = x.map};
  for (size_t d = 0; d < grid.size(); ++d) all.array[d] *= grid[d];
  const Val in = k.input(x), out = k.output(all);
  k.store(k.load(in), out);
  const auto code = native(k, {.checkBlocks = false});
  bool fault = false;
  auto got = code->call(std::vector{operand}, 1, fault);
  EXPECT_TRUE(got && !fault);
  return (*got)[0];
}

TEST(NativeEdgeCopy, OnlyElementsInsideAreCopied) {
  for (const Shape& block : {Shape{4, 8}, Shape{7, 5}, Shape{16, 40}, Shape{3, 33}, Shape{10, 8}, Shape{4, 37}}) {
    const Shape array{10, 37};
    const std::vector<int64_t> grid{(array[0] + block[0] - 1) / block[0], (array[1] + block[1] - 1) / block[1]};
    const Array got = seen({.array = array, .block = block, .map = "%i, %j"}, grid, counting(array));
    const int64_t columns = got.shape()[1];
    for (int64_t i = 0; i < got.elements(); ++i) {
      const int64_t row = i / columns, column = i % columns;
      const float v = got.as<float>()[i];
      if (row < array[0] && column < array[1])
        ASSERT_EQ(v, static_cast<float>(row * array[1] + column)) << row << ", " << column;
      else
        ASSERT_TRUE(std::isnan(v)) << row << ", " << column;
    }
  }
}

TEST(NativeEdgeCopy, OfOneAndOfThreeDimensions) {
  const Array row = seen({.array = {70}, .block = {32}, .map = "%i"}, {3}, counting({70}));
  for (int64_t i = 0; i < 96; ++i) {
    const float v = row.as<float>()[i];
    ASSERT_TRUE(i < 70 ? v == static_cast<float>(i) : std::isnan(v)) << i;
  }
  const Array box =
      seen({.array = {3, 5, 18}, .block = {2, 4, 16}, .map = "%i, %j, %k"}, {2, 2, 2}, counting({3, 5, 18}));
  for (int64_t i = 0; i < box.elements(); ++i) {
    const int64_t x = i / (8 * 32), y = i / 32 % 8, z = i % 32;
    const float v = box.as<float>()[i];
    ASSERT_TRUE(x < 3 && y < 5 && z < 18 ? v == static_cast<float>((x * 5 + y) * 18 + z) : std::isnan(v)) << i;
  }
}

/// Steps that follow each other share the buffer of partial blocks; nobody shall see what another has left
/// there.
TEST(NativeEdgeCopy, ElementsOutsideAreUndefinedRegardlessOfThePreviousBlock) {
  const Shape array{8, 37}, half{2, 16};
  TextKernel k({2, 3}, "parallel,parallel");
  const Val out = k.output({.array = array, .block = {4, 16}, .map = "%i, %j"});
  const Val two = k.constant(2);
  k.store(k.splat(k.f32(5), half), out, {k.binary("arith.muli", k.id(0), two), k.constant(0)});
  const Array got = same(k, {}).at(0);
  for (int64_t i = 0; i < got.elements(); ++i) {
    const int64_t row = i / array[1];
    ASSERT_EQ(std::isnan(got.as<float>()[i]), row % 4 / 2 != row / 4) << row;
  }
}

/// Where the index map divides a grid index, as heads that share keys do: inside whenever the largest quotient is.
TEST(NativeEdgeCopy, BlocksOfADividedIndexAreViews) {
  for (const int64_t steps : {6, 7}) {
    SCOPED_TRACE(steps);
    TextKernel k({steps});
    const Val in = k.input({.array = {6, 32},
                            .block = {2, 32},
                            .map = "%half, %c0",
                            .lines = "%half = arith.divsi %i, %c2 : i32\n"}),
              out = k.output({.array = {2 * steps, 32}, .block = {2, 32}, .map = "%i, %c0"});
    k.store(k.load(in), out);
    EXPECT_EQ(native(k, {.checkBlocks = false})->report().arenaBytes == 0, steps == 6);
    if (steps == 6) same(k, {counting({6, 32})});
  }
}

TEST(NativeEdgeCopy, BlocksOutsideTheArray) {
  const Array got = seen({.array = {10, 8}, .block = {4, 8}, .map = "%i, %c0"}, {5, 1}, counting({10, 8}));
  for (int64_t i = 0; i < got.elements(); ++i) {
    const float v = got.as<float>()[i];
    ASSERT_TRUE(i < 80 ? v == static_cast<float>(i) : std::isnan(v)) << i;
  }
}

TEST(NativeEdgeCopy, OnlyElementsInsideAreWritten) {
  // The index of the step decides, so that the blocks keep their size.
  for (const Shape& block : {Shape{4, 8}, Shape{7, 5}, Shape{16, 40}}) {
    const Shape array{10, 37};
    TextKernel k({(array[0] + block[0] - 1) / block[0], (array[1] + block[1] - 1) / block[1]});
    const Spec part{.array = array, .block = block, .map = "%i, %j"};
    const Val x = k.input(part), o = k.output(part);
    const Val step = k.toFloat(k.binary("arith.addi", k.id(0), k.id(1)));
    k.store(k.binary("arith.addf", k.load(x), k.splat(step, block)), o);
    same(k, {counting(array)});
  }
}

}  // namespace
}  // namespace smalti::cpu::testing
