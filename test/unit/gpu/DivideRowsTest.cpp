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

/// The sum of x in blocks of rows, and of some rows that are the same in all steps.
TextKernel sums(Shape block, int weights = 1) {
  TextKernel k({4}, "parallel");
  const Spec rows{.array = {4 * block[0], block[1]}, .block = block, .map = "%i, %c0"};
  Val sum = k.load(k.input(rows));
  std::vector<Val> given;
  for (int w = 0; w < weights; ++w)
    given.push_back(k.load(k.input({.array = {1, block[1]}, .block = {1, block[1]}, .map = "%c0, %c0"})));
  const Val o = k.output(rows);
  for (Val w : given) {
    if (block[0] > 1) {
      const Val wide = k.fresh(fmt::format("vector<{}x{}xf32>", block[0], block[1]));
      k.raw(fmt::format("{} = vector.broadcast {} : {} to {}", wide.name, w.name, w.type, wide.type));
      w = wide;
    }
    sum = k.binary("arith.addf", sum, w);
  }
  k.store(sum, o);
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

/// Every part reads all of these rows.
TEST(DivideRows, PartsAreHalfAsLargeAsWhatAllOfThemRead) {
  EXPECT_EQ(divided(sums({16, 4096}, 2)), std::vector<int64_t>{4 * 16});
  EXPECT_EQ(divided(sums({16, 4096}, 4)), std::vector<int64_t>{4 * 8});
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
