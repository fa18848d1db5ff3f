#include "gpu/plan/DivideRows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../machine/runtime/TextKernel.h"

namespace smalti::gpu {
namespace {

using namespace machine::testing;

/// The grid after the division; empty: the kernel stays as it is.
std::vector<int64_t> divided(const TextKernel& k) {
  const auto made = divideRows(k.package());
  return made ? made->signature.grid : std::vector<int64_t>();
}

/// x + w in blocks of rows; `w` has the given number of rows, and is the same in all steps.
TextKernel sums(Shape block, int64_t rowsOfW = 1) {
  TextKernel k({4}, "parallel");
  const Spec rows{.array = {4 * block[0], block[1]}, .block = block, .map = "%i, %c0"};
  const Val x = k.input(rows),
            w = k.input({.array = {rowsOfW, block[1]}, .block = {rowsOfW, block[1]}, .map = "%c0, %c0"}),
            o = k.output(rows);
  Val v = k.load(w);
  if (rowsOfW == 1 && block[0] > 1) {
    const Val wide = k.fresh(fmt::format("vector<{}x{}xf32>", block[0], block[1]));
    k.raw(fmt::format("{} = vector.broadcast {} : {} to {}", wide.name, v.name, v.type, wide.type));
    v = wide;
  }
  k.store(k.binary("arith.addf", k.load(x), v), o);
  return k;
}

TEST(DivideRows, PartsHave4096Elements) {
  EXPECT_EQ(divided(sums({64, 512})), std::vector<int64_t>{4 * 64 / 8});
  EXPECT_EQ(divided(sums({100, 512})), std::vector<int64_t>{4 * 100 / 5}) << "a divisor of the rows";
  EXPECT_EQ(divided(sums({8, 8192})), std::vector<int64_t>{4 * 8}) << "at least one row";
}

TEST(DivideRows, SmallBlocksStay) {
  EXPECT_EQ(divided(sums({16, 512})), std::vector<int64_t>());
  EXPECT_EQ(divided(sums({1, 16384})), std::vector<int64_t>());
}

/// Every part reads all of w.
TEST(DivideRows, PartsAreAsLargeAsWhatAllOfThemRead) {
  EXPECT_EQ(divided(sums({64, 512}, 64)), std::vector<int64_t>());
}

/// Sums of columns, whose blocks are divided along their rows in memory.
TEST(DivideRows, PartsKeepNeighboursTogether) {
  TextKernel k({4}, "parallel");
  const Val x = k.input({.array = {1024, 1024}, .block = {1024, 256}, .map = "%c0, %i"}),
            o = k.output({.array = {1, 1024}, .block = {1, 256}, .map = "%c0, %i"});
  const Val v = k.load(x), zero = k.splat(k.f32(0), {256}), sum = k.fresh("vector<256xf32>"),
            row = k.fresh("vector<1x256xf32>");
  k.raw(fmt::format("{} = vector.multi_reduction <add>, {}, {} [0] : {} to {}", sum.name, v.name, zero.name, v.type,
                    sum.type));
  k.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", row.name, sum.name, sum.type, row.type));
  k.store(row, o);
  EXPECT_EQ(divided(k), std::vector<int64_t>{1024 / 128});
}

}  // namespace
}  // namespace smalti::gpu
