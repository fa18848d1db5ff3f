#include "cpu/emit/Arena.h"

#include <gtest/gtest.h>

namespace smalti::cpu {
namespace {

TEST(Arena, FreedPlacesAreReused) {
  Arena arena;
  auto a = arena.allocate(100);
  const auto b = arena.allocate(64);
  EXPECT_EQ(a->offset, 0);
  EXPECT_EQ(b->offset, 128);
  a.reset();
  EXPECT_EQ(arena.allocate(128)->offset, 0);
  EXPECT_EQ(arena.peakBytes(), 192);
}

TEST(Arena, AnUnusedPlaceIsNewMemory) {
  Arena arena;
  auto low = arena.allocate(64), high = arena.allocate(192);
  high.reset();
  low.reset();
  const auto kept = arena.allocateUnused(64);
  EXPECT_EQ(kept->offset, 256);
  EXPECT_EQ(arena.peakBytes(), 320);
  const auto below = arena.allocate(256);  // what is free below it can be had
  EXPECT_EQ(below->offset, 0);
  EXPECT_EQ(arena.allocate(64)->offset, 320);
}

}  // namespace
}  // namespace smalti::cpu
