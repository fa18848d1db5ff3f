// Do two accesses touch the same elements? Exactly, for any strides.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "machine/observers/Region.h"
#include "machine/runtime/Allocation.h"

namespace smalti::machine::testing {
namespace {

Allocation buffer(Shape shape, int index = 0) {
  Allocation b;
  b.index = index;
  b.type = {DType::f32, std::move(shape)};
  return b;
}

TEST(Region, ColumnsOfTheSameRowsAreDisjoint) {
  Allocation b = buffer({8, 256});
  EXPECT_FALSE(overlap({&b, 0, {8, 128}, {256, 1}}, {&b, 128, {8, 128}, {256, 1}}));
  EXPECT_TRUE(overlap({&b, 0, {8, 129}, {256, 1}}, {&b, 128, {8, 128}, {256, 1}}));
}

TEST(Region, EvenAndOddRowsAreDisjoint) {
  Allocation b = buffer({8, 128});
  EXPECT_FALSE(overlap({&b, 0, {4, 128}, {256, 1}}, {&b, 128, {4, 128}, {256, 1}}));
}

TEST(Region, DifferentBuffersAreDisjoint) {
  Allocation a = buffer({4}), b = buffer({4}, 1);
  EXPECT_FALSE(overlap({&a, 0, {4}, {1}, idOf(a)}, {&b, 0, {4}, {1}, idOf(b)}));
}

RC_GTEST_PROP(RegionProperty, OverlapIsExact, ()) {
  Allocation b = buffer({3, 4, 5});
  auto any = [&] {
    Region r{&b, *rc::gen::inRange<int64_t>(0, 20), {}, {}};
    for (int d = 0; d < 2; ++d) {
      r.shape.push_back(*rc::gen::inRange<int64_t>(1, 4));
      r.strides.push_back(*rc::gen::element<int64_t>(0, 1, 2, 5, 10));
    }
    return r;
  };
  const Region x = any(), y = any();
  bool expected = false;
  for (int64_t i = 0; i < x.shape[0]; ++i)
    for (int64_t j = 0; j < x.shape[1]; ++j)
      for (int64_t k = 0; k < y.shape[0]; ++k)
        for (int64_t l = 0; l < y.shape[1]; ++l)
          expected |= x.offset + i * x.strides[0] + j * x.strides[1] == y.offset + k * y.strides[0] + l * y.strides[1];
  RC_ASSERT(overlap(x, y) == expected);
}

}  // namespace
}  // namespace smalti::machine::testing
