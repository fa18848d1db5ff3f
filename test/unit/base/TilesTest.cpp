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

using Source = std::vector<std::optional<size_t>>;
constexpr std::nullopt_t none = std::nullopt;

TEST(Tiles, DimensionsThatAReshapeNeitherSplitsNorJoins) {
  EXPECT_EQ(unchangedDimensions(Shape{128, 255}, Shape{8, 16, 255}), (Source{none, none, 1}));
  EXPECT_EQ(unchangedDimensions(Shape{2, 8, 16, 255}, Shape{2, 128, 255}), (Source{0, none, 3}));
  EXPECT_EQ(unchangedDimensions(Shape{6, 5, 100}, Shape{2, 3, 5, 100}), (Source{none, none, 1, 2}));
  EXPECT_EQ(unchangedDimensions(Shape{4, 4}, Shape{2, 2, 4}), (Source{none, none, 1}));
  EXPECT_EQ(unchangedDimensions(Shape{4, 6}, Shape{6, 4}), (Source{none, none}));
  EXPECT_EQ(unchangedDimensions(Shape{5, 7}, Shape{1, 5, 1, 7}), (Source{none, 0, none, 1}));
  EXPECT_EQ(unchangedDimensions(Shape{1, 7}, Shape{1, 1, 7}), (Source{none, 0, 1}));
  EXPECT_EQ(unchangedDimensions(Shape{5, 1, 7}, Shape{5, 7}), (Source{0, 2}));
  EXPECT_EQ(unchangedDimensions(Shape{16, 1}, Shape{2, 8, 1}), (Source{none, none, 1}));
  EXPECT_EQ(unchangedDimensions(Shape{0, 7}, Shape{3, 0, 7}), (Source{none, 0, 1}));
  EXPECT_EQ(unchangedDimensions(Shape{}, Shape{1, 1}), (Source{none, none}));
}

TEST(Tiles, PaddingAfterAReshapeIsThatOfDimensionsInTheSamePlace) {
  EXPECT_EQ(paddingAfterReshape(Shape{128, 255}, Shape{0, 1}, Shape{8, 16, 255}), (Shape{0, 0, 1}));
  EXPECT_EQ(paddingAfterReshape(Shape{8, 16, 255}, Shape{0, 0, 1}, Shape{128, 255}), (Shape{0, 1}));
  EXPECT_EQ(paddingAfterReshape(Shape{6, 5, 100}, Shape{0, 3, 28}, Shape{2, 3, 5, 100}), (Shape{0, 0, 3, 28}));
  EXPECT_EQ(paddingAfterReshape(Shape{13, 128}, Shape{3, 0}, Shape{1, 13, 128}), (Shape{0, 3, 0}));
  EXPECT_EQ(paddingAfterReshape(Shape{13, 128}, Shape{3, 0}, Shape{13, 1, 128}), Shape{});  // no longer rows of a tile
  EXPECT_EQ(paddingAfterReshape(Shape{2, 5, 100}, Shape{0, 3, 28}, Shape{10, 100}), (Shape{0, 28}));
  EXPECT_EQ(paddingAfterReshape(Shape{1000}, Shape{24}, Shape{8, 125}), Shape{});
  EXPECT_EQ(paddingAfterReshape(Shape{16, 128}, Shape{}, Shape{2, 8, 128}), Shape{});
}

}  // namespace
}  // namespace smalti
