// Loads that reach outside of a ref, in calls that go on after them.
#include "cpu/runtime/OutsideReads.h"

#include <array>
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../Native.h"
#include "cpu/inspect/Inspect.h"
#include "llvm/ADT/StringExtras.h"

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
  EXPECT_THAT(reads.seen().loads, ElementsAre(SourcePlace{"a.py", 3, 4}));
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
    ReadsOutsideRefs outside;
    fault = false;
    const auto results = code->call(operands, {}, {.threads = 1, .outsideReads = &outside}, fault);
    ASSERT_TRUE(results && !fault) << start;
    EXPECT_EQ(outside.loads.size(), start == 8 ? 0U : 1U);
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

/// The sum of rows start + 0, start + 1, …, each loaded on its own. `isMasked`: only the low four bits of the start
/// count.
TextKernel sumOfRows(int64_t rows, bool isMasked = false) {
  TextKernel k;
  const Val number = k.input({.dtype = "i32", .array = {4}, .space = "smem"}),
            x = k.input({.array = {128, 128}, .space = "vmem"}), o = k.output({.array = {1, 128}, .space = "vmem"});
  k.raw("%none = arith.constant 0 : index");
  Val first = k.fresh("i32");
  const Val start = k.fresh("index");
  k.raw(fmt::format("{} = memref.load {}[%none] : {}", first.name, number.name, number.type));
  if (isMasked) first = k.binary("arith.andi", first, k.constant(15));
  k.raw(fmt::format("{} = arith.index_cast {} : i32 to index", start.name, first.name));
  Val sum{};
  for (int64_t i = 0; i < rows; ++i) {
    const Val by = k.fresh("index"), at = k.fresh("index"), row = k.fresh("vector<1x128xf32>");
    k.raw(fmt::format("{} = arith.constant {} : index", by.name, i));
    k.raw(fmt::format("{} = arith.addi {}, {} : index", at.name, start.name, by.name));
    k.raw(fmt::format("{} = vector.load {}[{}, %none] : {}, {}", row.name, x.name, at.name, x.type, row.type));
    sum = i == 0 ? row : k.binary("arith.addf", sum, row);
  }
  k.store(sum, o);
  return k;
}

/// Few loads have branches of their own, many call a function.
TEST(OutsideReads, ManyLoadsAreCheckedLikeFew) {
  for (const int64_t rows : {60, 80}) {
    const auto code = native(sumOfRows(rows));
    ASSERT_TRUE(code);
    const Array x = counting({128, 128});
    for (const int64_t start : std::initializer_list<int64_t>{0, 3, 128 - rows, 129 - rows, 99, -1, -rows, INT32_MIN}) {
      const std::vector<Array> operands{i32Array({4}, [&](int64_t) { return static_cast<int32_t>(start); }), x};
      const bool isInside = start >= 0 && start + rows <= 128;
      bool fault = false;
      ASSERT_TRUE(code->call(operands, 1, fault));
      EXPECT_EQ(fault, !isInside) << rows << " from " << start;
      ReadsOutsideRefs outside;
      fault = false;
      const auto results = code->call(operands, {}, {.threads = 1, .outsideReads = &outside}, fault);
      ASSERT_TRUE(results && !fault) << rows << " from " << start;
      EXPECT_EQ(outside.empty(), isInside);
      for (int64_t column = 0; column < 128; ++column) {
        float sum = 0;
        for (int64_t row = start; row < start + rows; ++row)
          sum += row < 0 || row >= 128 ? NAN : x.as<float>()[row * 128 + column];
        const float got = results->front().as<float>()[column];
        EXPECT_TRUE(isInside ? got == sum : std::isnan(got)) << rows << " from " << start << ": " << got;
      }
    }
  }
}

TEST(OutsideReads, ManyLoadsBecomeCalls) {
  const auto calls = [](int64_t rows, bool isMasked = false) -> int64_t {
    const auto made = inspectNative(sumOfRows(rows, isMasked).package(), {});
    EXPECT_TRUE(made);
    if (!made) return -1;
    int64_t count = 0;
    for (const llvm::StringRef line : llvm::split(made->optimised, '\n'))
      count += line.contains("call ") && line.contains("@smalti.load.f32.") && !line.contains(".outside");
    return count;
  };
  EXPECT_EQ(calls(60), 0);
  EXPECT_EQ(calls(80), 80);
  EXPECT_EQ(calls(80, true), 0);  // simplified code shows that all are inside
}

}  // namespace
}  // namespace smalti::cpu::testing
