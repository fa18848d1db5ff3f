#include <gtest/gtest.h>

#include "base/Tiles.h"

namespace smalti {
namespace {

TEST(Tiles, AreEightSublanesOfWholeLanesOrFewerRowsOfSmallArrays) {
  EXPECT_EQ(tileSize({DType::f32, {250, 130}}, 0), 8);
  EXPECT_EQ(tileSize({DType::f32, {250, 130}}, 1), 128);
  EXPECT_EQ(tileSize({DType::f32, {3, 250, 130}}, 0), 1);
  EXPECT_EQ(tileSize({DType::f32, {1, 130}}, 0), 1);
  EXPECT_EQ(tileSize({DType::f32, {3, 130}}, 0), 4);
  EXPECT_EQ(tileSize({DType::bf16, {1, 130}}, 0), 2);
  EXPECT_EQ(tileSize({DType::i8, {3, 130}}, 0), 4);
  EXPECT_EQ(tileSize({DType::i8, {33, 130}}, 0), 8);
  EXPECT_EQ(tileSize({DType::f32, {1000}}, 0), 128);
  EXPECT_EQ(tileSize({DType::bf16, {1000}}, 0), 256);
}

TEST(Tiles, PaddingGoesToTheEndOfTheLastTile) {
  EXPECT_EQ(tilePadding({DType::f32, {20, 130}}), (Shape{4, 126}));
  EXPECT_EQ(tilePadding({DType::f32, {5, 24, 128}}), Shape{});
  EXPECT_EQ(tilePadding({DType::f32, {5, 24, 100}}), (Shape{0, 0, 28}));
  EXPECT_EQ(tilePadding({DType::bf16, {1000}}), Shape{24});
  EXPECT_EQ(tilePadding({DType::f32, {}}), Shape{});
  EXPECT_EQ(tilePadding({DType::dma_semaphore, {3}}), Shape{});
}

}  // namespace
}  // namespace smalti
