#include "smalti/array.h"

#include <gtest/gtest.h>

namespace smalti {
namespace {

TEST(Array, HugeArraysAreRefused) {
  const auto array = Array::allocate({DType::f32, {int64_t{1} << 60}});
  ASSERT_FALSE(array);
  EXPECT_EQ(array.error().str(),
            "error[SM1009]: out of memory for an array of type f32[1152921504606846976]\n"
            "  need: 4611686018427387904 bytes\n"
            "  help: use smaller arrays, or a machine with more memory\n");
  EXPECT_EQ(Array::allocate({DType::f32, {-1}}).error().code, "SM1009");
  EXPECT_EQ(Array::allocate({DType::f32, {int64_t{1} << 40, int64_t{1} << 40}}).error().code, "SM1009");
}

TEST(Array, AReshapeKeepsTheElements) {
  auto array = Array::allocate({DType::i8, {2, 3}});
  ASSERT_TRUE(array);
  EXPECT_EQ(array->reshaped({6})->data(), array->data());
  const auto wrong = array->reshaped({4});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().str(),
            "error[SM1010]: cannot reshape i8[2,3] to i8[4]\n  need: 6 elements\n  have: shape [4]\n");
}

TEST(Array, CopiesShareAndClonesDoNot) {
  auto array = Array::allocate({DType::i8, {1}});
  EXPECT_TRUE(array->unique());
  const Array shared = *array;
  EXPECT_FALSE(array->unique());
  array->as<int8_t>()[0] = 1;
  auto clone = array->clone();
  array->as<int8_t>()[0] = 2;
  EXPECT_EQ(shared.as<int8_t>()[0], 2);
  EXPECT_EQ(clone->as<int8_t>()[0], 1);
}

TEST(Array, IsAssignedFromWhatItAloneOwns) {
  const auto owner = [] { return std::make_shared<Array>(*Array::allocate({DType::i8, {3}})); };
  auto copied = owner(), moved = owner();
  Array &inCopied = *copied, &inMoved = *moved;
  Array a = Array::traced({DType::f32, {2}}, std::move(copied)), b = Array::traced({DType::f32, {2}}, std::move(moved));
  a = inCopied;
  b = std::move(inMoved);
  EXPECT_EQ(a.shape(), Shape{3});
  EXPECT_FALSE(a.is_traced());
  EXPECT_EQ(b.shape(), Shape{3});
  EXPECT_FALSE(b.is_traced());
}

}  // namespace
}  // namespace smalti
