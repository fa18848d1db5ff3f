#include "ir/facts/GridBounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/KernelPackage.h"

namespace smalti {
namespace {

using ::testing::ElementsAre;

int64_t points(std::vector<int64_t> bounds) { return gridPoints(bounds); }

TEST(GridBounds, PointsOfAGrid) {
  EXPECT_EQ(points({}), 1);
  EXPECT_EQ(points({4, 3}), 12);
  EXPECT_EQ(points({4, 0}), 0);
  EXPECT_EQ(points({4, -3, -1}), 0);
  const int64_t many = int64_t{1} << 40;
  EXPECT_EQ(points({many, many}), INT64_MAX);
  EXPECT_EQ(points({many, many, 0}), 0) << "an empty grid, whatever its other bounds are";
}

TEST(GridBounds, DynamicBoundsAreTheLeadingOperands) {
  std::vector<Array> operands;
  for (const int32_t bound : {5, 7}) {
    operands.push_back(*Array::allocate({DType::i32, {}}));
    *operands.back().as<int32_t>() = bound;
  }
  const std::vector<int64_t> bounds{kDynamicBound, 3, kDynamicBound};
  EXPECT_THAT(boundsOfCall(bounds, operands), ElementsAre(5, 3, 7));
  EXPECT_THAT(boundsOfCall(std::vector<int64_t>{4}, {}), ElementsAre(4));
}

}  // namespace
}  // namespace smalti
