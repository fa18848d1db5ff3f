#include "gpu/emit/Points.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"

namespace smalti::gpu {
namespace {

using Indices = std::vector<int64_t>;

/// The points in order. Of constants, the builder makes constants.
std::vector<Indices> visited(const PointOrder& order, const Indices& bounds) {
  llvm::LLVMContext context;
  Builder b(context);
  std::vector<Reg> sizes;
  for (const int64_t n : bounds) sizes.push_back(b.getInt64(static_cast<uint64_t>(n)));
  int64_t points = 1;
  for (const size_t a : order.axes) points *= bounds[a];
  std::vector<Indices> all;
  for (int64_t p = 0; p < points; ++p) {
    Indices at;
    for (Reg r : indicesOfPoint(b, order, sizes, b.getInt64(static_cast<uint64_t>(p))))
      at.push_back(llvm::cast<llvm::ConstantInt>(r)->getSExtValue());
    all.push_back(std::move(at));
  }
  return all;
}

TEST(Points, AGroupIsARectangle) {
  const std::vector<Indices> expected{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1},
                                      {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 2}, {2, 3}};
  EXPECT_EQ(visited({.axes = {1, 0}, .group = 2}, {3, 4}), expected);
}

TEST(Points, WithoutAGroupTheFirstAxisIsTheFastest) {
  const std::vector<Indices> expected{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}};
  EXPECT_EQ(visited({.axes = {0, 1}}, {2, 3}), expected);
}

TEST(Points, TheLargestComeFirst) {
  const std::vector<Indices> expected{{0, 2}, {1, 2}, {0, 1}, {1, 1}, {0, 0}, {1, 0}};
  EXPECT_EQ(visited({.axes = {0, 1}, .largestFirst = true}, {2, 3}), expected);
}

TEST(Points, GroupsAreAboutTheSameSize) {
  // 17 by groups of up to 16: 9 and 8.
  const std::vector<Indices> all = visited({.axes = {0, 1}, .group = 16}, {17, 5});
  EXPECT_EQ(all[8], (Indices{8, 0}));
  EXPECT_EQ(all[9], (Indices{0, 1}));
  EXPECT_EQ(all[45], (Indices{9, 0}));
  EXPECT_EQ(all[53], (Indices{9, 1}));
}

TEST(Points, EveryPointIsVisitedOnce) {
  std::mt19937 random(36);
  for (int i = 0; i < 300; ++i) {
    const size_t rank = 1 + random() % 3;
    Indices bounds(rank + random() % 2);  // with an axis that is not shared, perhaps
    for (int64_t& n : bounds) n = 1 + static_cast<int64_t>(random() % 20);
    PointOrder order;
    order.axes.resize(rank);
    std::iota(order.axes.begin(), order.axes.end(), size_t{0});
    std::ranges::shuffle(order.axes, random);
    if (rank > 1) order.group = static_cast<int64_t>(random() % 9);
    const std::vector<Indices> all = visited(order, bounds);
    EXPECT_EQ(std::set<Indices>(all.begin(), all.end()).size(), all.size());
    for (const Indices& at : all)
      for (size_t a = 0; a < rank; ++a) {
        EXPECT_GE(at[a], 0);
        EXPECT_LT(at[a], bounds[a]);
      }
  }
}

}  // namespace
}  // namespace smalti::gpu
