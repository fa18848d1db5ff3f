// Where blocks lie, against counting elements one by one.
#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "ir/BlockGeometry.h"

namespace smalti {
namespace {

Window someWindow(Shape& array) {
  Window w;
  w.elementIndexed = *rc::gen::arbitrary<bool>();
  for (int d = 0; d < 2; ++d) {
    array.push_back(*rc::gen::inRange<int64_t>(1, 8));
    w.bounds.push_back(*rc::gen::inRange<int64_t>(1, 6));
    if (!w.elementIndexed) continue;
    w.padLow.push_back(*rc::gen::inRange<int64_t>(0, 4));
    w.padHigh.push_back(*rc::gen::inRange<int64_t>(0, 4));
  }
  return w;
}

/// First element of a block.
int64_t startOf(const Window& w, int64_t coordinate, size_t d) {
  return w.elementIndexed ? coordinate - w.padLow[d] : coordinate * w.bounds[d];
}

TEST(BlockGeometry, SB6_PlacesWhatOfABlockIsInside) {
  EXPECT_TRUE(rc::check([] {
    Shape array;
    const Window w = someWindow(array);
    const BlockGeometry geometry(w, array);
    std::vector<int64_t> block;
    for (int d = 0; d < 2; ++d) block.push_back(*rc::gen::inRange<int64_t>(-4, 9));
    BlockRegion region;
    geometry.place(block, region);
    bool full = true, empty = false, outside = false;
    for (size_t d = 0; d < 2; ++d) {
      const int64_t start = startOf(w, block[d], d);
      RC_ASSERT(geometry.start(block, d) == start);
      int64_t count = 0, near = 0;  // elements in the array; and in its padding
      for (int64_t e = 0; e < w.bounds[d]; ++e) {
        const int64_t at = start + e;
        const bool in = at >= 0 && at < array[d];
        if (in && count == 0) {
          RC_ASSERT(region.arrayStart[d] == at);
          RC_ASSERT(region.windowStart[d] == e);
        }
        count += in;
        near += w.elementIndexed ? at >= -w.padLow[d] && at < array[d] + w.padHigh[d] : in;
      }
      RC_ASSERT(region.size[d] == count);
      full &= count == w.bounds[d];
      empty |= count == 0;
      outside |= near == 0;
    }
    RC_ASSERT(region.full == full);
    RC_ASSERT(region.empty == empty);
    RC_ASSERT(geometry.outside(block) == outside);
  }));
}

TEST(BlockGeometry, CountsBlocks) {
  EXPECT_TRUE(rc::check([] {
    Shape array;
    const Window w = someWindow(array);
    const BlockGeometry geometry(w, array);
    for (size_t d = 0; d < 2; ++d) {
      bool partial = false;
      for (int64_t c = -3; c < 12; ++c) {
        // Whole blocks of an Element window are identified by their start.
        const int64_t start = w.elementIndexed ? c : c * w.bounds[d], end = start + w.bounds[d];
        RC_ASSERT((c >= 0 && c < geometry.numWholeBlocks(d)) == (start >= 0 && end <= array[d]));
        if (w.elementIndexed) continue;
        const bool any = end > 0 && start < array[d];
        RC_ASSERT((c >= 0 && c < geometry.numBlocks(d)) == any);
        partial |= any && end > array[d];
      }
      RC_ASSERT(geometry.hasPartialBlock(d) == (w.elementIndexed || partial));
    }
  }));
}

TEST(BlockGeometry, SB7_EveryBlockFitsIntoThePaddedArray) {
  EXPECT_TRUE(rc::check([] {
    Shape array;
    const Window w = someWindow(array);
    const BlockGeometry geometry(w, array);
    const Shape shape = geometry.paddedShape(), begin = geometry.paddedStart();
    const BlockGeometry padded(w, shape, /*padded=*/true);
    for (size_t d = 0; d < 2; ++d) RC_ASSERT(begin[d] + array[d] <= shape[d]);
    std::vector<int64_t> block;
    for (size_t d = 0; d < 2; ++d) {
      const int64_t last = w.elementIndexed ? shape[d] - w.bounds[d] : geometry.numBlocks(d) - 1;
      block.push_back(*rc::gen::inRange<int64_t>(0, last + 1));
    }
    BlockRegion region;
    padded.place(block, region);
    RC_ASSERT(region.full);
    // It is the same part of the array as without padding.
    for (size_t d = 0; d < 2; ++d) RC_ASSERT(region.arrayStart[d] - begin[d] == startOf(w, block[d], d));
  }));
}

TEST(BlockGeometry, AnEmptyArrayHasNoBlocks) {
  Window w;
  w.bounds = {0, 4};
  const BlockGeometry geometry(w, {0, 4});
  EXPECT_EQ(geometry.numBlocks(0), 0);
  EXPECT_EQ(geometry.numWholeBlocks(0), 0);
  EXPECT_TRUE(geometry.hasPartialBlock(0));
  EXPECT_FALSE(geometry.outside(std::vector<int64_t>{0, 0}));
  EXPECT_EQ(geometry.paddedShape(), (Shape{0, 4}));
}

}  // namespace
}  // namespace smalti
