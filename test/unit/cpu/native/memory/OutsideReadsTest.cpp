// Loads that reach outside of a ref, in calls that go on after them.
#include "cpu/runtime/OutsideReads.h"

#include <array>
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../Native.h"

namespace smalti::cpu::testing {
namespace {

using ::testing::ElementsAre;

const float* floatsAt(const std::byte* p) { return reinterpret_cast<const float*>(p); }

TEST(OutsideReads, WhatLiesInsideIsRead) {
  std::array<float, 6> x{0, 1, 2, 3, 4, 5};  // 2 x 3
  const auto* base = reinterpret_cast<const std::byte*>(x.data());
  const std::array<ReadDimension, 2> dims{{{-1, 3, 1, 3, 2}, {1, 2, 2, 1, 3}}};
  OutsideReads reads;
  reads.begin(false, eval::Poison::intMin);
  EXPECT_EQ(reads.read("a.py:3:4", base, dims, DType::f32), nullptr);
  reads.begin(true, eval::Poison::intMin);
  const auto* copy = reads.read("a.py:3:4", base, dims, DType::f32);
  ASSERT_TRUE(copy);
  EXPECT_TRUE(std::isnan(floatsAt(copy)[0]));  // row -1
  EXPECT_EQ(floatsAt(copy)[3], 1);             // row 0, column 1
  EXPECT_TRUE(std::isnan(floatsAt(copy)[5]));  // column 3
  EXPECT_EQ(floatsAt(copy)[6], 4);             // row 1, column 1
  EXPECT_THAT(reads.places(), ElementsAre(SourcePlace{"a.py", 3, 4}));
}

TEST(OutsideReads, CopiesThatWouldBeTooLargeAreRefused) {
  const std::array<ReadDimension, 2> far{{{0, INT64_C(1) << 40, 1, 4, 2}, {0, 1, 1, 1, 1}}};
  const std::array<ReadDimension, 1> wraps{{{0, 3, INT64_MAX / 2, 4, 2}}};
  OutsideReads reads;
  reads.begin(true, eval::Poison::intMin);
  EXPECT_EQ(reads.read("a.py:1:1", nullptr, far, DType::f32), nullptr);
  EXPECT_EQ(reads.read("a.py:1:1", nullptr, wraps, DType::f32), nullptr);
}

/// Rows from number[0] on, of which the last may be past the end; and the number is overwritten first, in place.
TEST(OutsideReads, ACallContinuesIfRequested) {
  TextKernel k;
  const Val number = k.input({.dtype = "i32", .array = {4}, .space = "smem"}),
            x = k.input({.array = {16, 128}, .space = "vmem"}), o = k.output({.array = {8, 128}, .space = "vmem"});
  const Val first = k.fresh("i32"), at = k.fresh("index"), v = k.fresh("vector<8x128xf32>");
  k.raw("%none = arith.constant 0 : index");
  k.raw(fmt::format("{} = memref.load {}[%none] : {}", first.name, number.name, number.type));
  k.raw(fmt::format("{} = arith.index_cast {} : i32 to index", at.name, first.name));
  k.raw(fmt::format("{} = vector.load {}[{}, %none] : {}, {}", v.name, x.name, at.name, x.type, v.type));
  k.store(k.binary("arith.addf", v, v), o);
  const auto code = native(k);
  ASSERT_TRUE(code);
  const Array rows = counting({16, 128});
  for (const int start : {8, 9, -3}) {
    const std::vector<Array> operands{i32Array({4}, [&](int64_t) { return start; }), rows};
    bool fault = false;
    ASSERT_TRUE(code->call(operands, 1, fault));
    EXPECT_EQ(fault, start != 8);
    std::vector<SourcePlace> places;
    fault = false;
    const auto results = code->call(operands, {}, {.threads = 1, .outsideReads = &places}, fault);
    ASSERT_TRUE(results && !fault) << start;
    EXPECT_EQ(places.size(), start == 8 ? 0U : 1U);
    for (int64_t row = 0; row < 8; ++row) {
      const float got = results->front().as<float>()[row * 128 + 5];
      const int64_t from = start + row;
      if (from < 0 || from >= 16)
        EXPECT_TRUE(std::isnan(got)) << start << " " << row;
      else
        EXPECT_EQ(got, 2 * rows.as<float>()[from * 128 + 5]) << start << " " << row;
    }
  }
}

}  // namespace
}  // namespace smalti::cpu::testing
