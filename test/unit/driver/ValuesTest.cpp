#include "driver/case/Values.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "eval/FloatFormats.h"

namespace smalti::driver {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Array floats(std::vector<float> values) {
  auto array = Array::allocate({DType::f32, {static_cast<int64_t>(values.size())}});
  std::copy(values.begin(), values.end(), array->as<float>());
  return *array;
}

Comparison compared(std::vector<float> got, std::vector<float> expected, Tolerance tolerance = {}) {
  return driver::compare(floats(std::move(got)), floats(std::move(expected)), tolerance);
}

TEST(Values, ToleranceIsAbsolutePlusRelativeToTheExpected) {
  EXPECT_TRUE(compared({1.1f}, {1.0f}, {0.1, 0.001}).passed());
  EXPECT_FALSE(compared({1.2f}, {1.0f}, {0.1, 0.001}).passed());
  EXPECT_TRUE(compared({0.5f}, {0}, {0, 0.5}).passed());
  EXPECT_FALSE(compared({1}, {2}).passed());
}

TEST(Values, NanIsRightExactlyWhereExpected) {
  EXPECT_TRUE(compared({kNan, 1}, {kNan, 1}).passed());
  const Comparison c = compared({kNan, 1}, {1, kNan}, {10, 10});
  EXPECT_EQ(c.wrong, 2);
  EXPECT_EQ(c.wrongNan, 2);
}

TEST(Values, InfinitiesMustBeEqual) {
  EXPECT_TRUE(compared({kInfinity, -kInfinity}, {kInfinity, -kInfinity}).passed());
  EXPECT_FALSE(compared({kInfinity}, {-kInfinity}, {10, 10}).passed());
  EXPECT_FALSE(compared({3e38f}, {kInfinity}, {10, 10}).passed());
  EXPECT_FALSE(compared({kInfinity}, {3e38f}, {10, 10}).passed());
}

TEST(Values, ZerosOfBothSignsAndDenormalsAreEqual) {
  EXPECT_TRUE(compared({-0.0f}, {0.0f}).passed());
  EXPECT_TRUE(compared({1e-40f, 0}, {0, -1e-40f}).passed());
  EXPECT_FALSE(compared({2e-38f}, {0}).passed());
}

// Smallest normal numbers: f32 and bf16 2^-126, f64 2^-1022, f16 2^-14; those of narrower types count as they are.
TEST(Values, EachFloatTypeHasItsOwnDenormals) {
  const auto equalsZero = [](DType t, double value) {
    Array got = *Array::allocate({t, {1}}), zero = *Array::allocate({t, {1}});
    eval::elementFromDouble(t, value, got.data());
    eval::elementFromDouble(t, 0, zero.data());
    return driver::compare(got, zero, {}).passed() && driver::compare(zero, got, {}).passed();
  };
  for (DType t : {DType::f32, DType::bf16}) {
    EXPECT_TRUE(equalsZero(t, 0x1p-127)) << name(t);
    EXPECT_FALSE(equalsZero(t, 0x1p-126)) << name(t);
  }
  EXPECT_TRUE(equalsZero(DType::f64, 0x1p-1023));
  EXPECT_FALSE(equalsZero(DType::f64, 0x1p-1022));
  EXPECT_FALSE(equalsZero(DType::f64, 1e-40));
  EXPECT_TRUE(equalsZero(DType::f16, 0x1p-15));
  EXPECT_FALSE(equalsZero(DType::f16, 0x1p-14));
  EXPECT_FALSE(equalsZero(DType::f8e5m2, 0x1p-16));
  EXPECT_FALSE(equalsZero(DType::f8e4m3fn, 0x1p-9));
  EXPECT_FALSE(equalsZero(DType::f8e4m3b11fnuz, 0x1p-13));
  EXPECT_FALSE(equalsZero(DType::f4e2m1fn, 0.5));
}

TEST(Values, AnotherShapeIsWrong) {
  const Array got = floats({1, 2});
  const Comparison c = driver::compare(got, floats({1}), {});
  EXPECT_FALSE(c.passed());
  EXPECT_EQ(describe(c, got.type(), {DType::f32, {1}}), "got f32[2], expected f32[1]");
}

TEST(Values, TheFirstWrongElementAndTheLargestErrorAreReported) {
  const Array got = *floats({0, 2, 0, 9}).reshaped({2, 2}), expected = *floats({0, 1, 0, 5}).reshaped({2, 2});
  const Comparison c = driver::compare(got, expected, {});
  EXPECT_EQ(c.maxError, 4.0);
  EXPECT_EQ(c.maxErrorAt, (Shape{1, 1}));
  EXPECT_EQ(describe(c, got.type(), expected.type()), "2 of 4 elements are wrong, first at (0, 1): got 2, expected 1");
}

TEST(Values, SummariesLeaveNanOut) {
  const Summary s = summarise(floats({1, kNan, 3, 5, 7}));
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 7);
  EXPECT_EQ(s.mean, 4);
  EXPECT_EQ(s.nans, 1);
  EXPECT_EQ(s.first, "1 nan 3 5 …");
}

TEST(Values, ComplexNumbersAreShownAndComparedByTheirParts) {
  for (const DType t : {DType::c64, DType::c128}) {
    const Array ones = filledArray({t, {5}}, "ones", 0).value(), counting = filledArray({t, {5}}, "iota", 0).value();
    EXPECT_EQ(summarise(ones).first, "(1, 0) (1, 0) (1, 0) (1, 0) …");
    EXPECT_EQ(summarise(ones).numbers, 0);
    const Comparison c = compare(counting, ones, {});
    EXPECT_EQ(c.elements, 10);
    EXPECT_EQ(c.wrong, 4);
    EXPECT_EQ(c.firstWrongAt, (Shape{0, 0}));
    EXPECT_EQ(c.maxError, 3);
    const Array random = filledArray({t, {5}}, "random", 0).value();
    EXPECT_TRUE(compare(random, random, {}).passed());
    EXPECT_EQ(compare(random, ones, {}).wrong, 10);
  }
}

TEST(Values, EveryTypeIsFilled) {
  for (const char* how : {"ones", "iota", "random"})
    for (int i = 0; i < kNumDTypes; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (is_semaphore(dtype) || dtype == DType::index || is_complex(dtype)) continue;
      const auto array = filledArray({dtype, {4, 40}}, how, 1);
      ASSERT_TRUE(array);
      const Summary s = summarise(*array);
      EXPECT_EQ(s.nans, 0) << how << " " << name(dtype);
      if (std::string(how) == "ones") {
        EXPECT_EQ(s.mean, 1) << name(dtype);
      } else {
        EXPECT_GT(s.max, s.min) << how << " " << name(dtype);
      }
    }
}

}  // namespace
}  // namespace smalti::driver
