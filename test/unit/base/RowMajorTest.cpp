#include "base/RowMajor.h"

#include <gtest/gtest.h>

namespace smalti {
namespace {

TEST(RowMajor, StridesCountElementsInOrder) {
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{5}, Shape{1, 7, 1}, Shape{3, 0, 2}}) {
    const Shape strides = rowMajorStrides(shape);
    ASSERT_EQ(strides.size(), shape.size());
    Shape index(shape.size(), 0);
    for (int64_t element = 0; element < num_elements(shape); ++element) {
      int64_t offset = 0;
      for (size_t d = 0; d < shape.size(); ++d) offset += index[d] * strides[d];
      EXPECT_EQ(offset, element);
      for (size_t d = shape.size(); d-- > 0;) {
        if (++index[d] < shape[d]) break;
        index[d] = 0;
      }
    }
  }
  EXPECT_TRUE(rowMajorStrides(Shape{}).empty());
  EXPECT_EQ(rowMajorStrides(Shape{3, 0, 2}), (Shape{0, 2, 1}));
}

}  // namespace
}  // namespace smalti
