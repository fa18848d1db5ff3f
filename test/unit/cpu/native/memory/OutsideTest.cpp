// With --check: undefined elements past an array's end that only reach what lies past the end of results are not
// followed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../Native.h"
#include "cpu/CheckedKernel.h"
#include "cpu/check/Instrument.h"

namespace smalti::cpu::testing {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

const Spec kPartialRows{.array = {10, 9}, .block = {4, 8}, .map = "%i, %j"};

/// Of a whole block, at constant indices as Pallas writes them.
Val load(TextKernel& k, const Val& ref) {
  const Val v = k.fresh("vector<4x8xf32>");
  k.raw(v.name + " = vector.load " + ref.name + "[%none, %none] : " + ref.type + ", " + v.type);
  return v;
}
void store(TextKernel& k, const Val& value, const Val& ref) {
  k.raw("tpu.vector_store " + ref.name + "[%none, %none], " + value.name + " {strides = array<i32>} : " + ref.type +
        ", " + value.type + ",");
}
constexpr const char* kNone = "%none = arith.constant 0 : index";

std::vector<std::string> shadowed(const TextKernel& k) {
  const auto checked = withChecks(k.package());
  EXPECT_TRUE(checked);
  return checked ? checked->shadowed : std::vector<std::string>();
}

TEST(Outside, ElementwiseOpsNeedNoShadow) {
  TextKernel k({3, 2});
  const Val x = k.input(kPartialRows), y = k.input(kPartialRows), o = k.output(kPartialRows),
            p = k.output(kPartialRows);
  k.raw(kNone);
  const Val sum = k.binary("arith.addf", load(k, x), load(k, y));
  store(k, sum, o);
  store(k, k.binary("arith.mulf", sum, sum), p);
  EXPECT_THAT(shadowed(k), IsEmpty());
  const auto checked = compileChecked(k.package(), {});
  ASSERT_TRUE(checked && checked->kernel);
  const std::vector<Array> operands{counting({10, 9}), counting({10, 9})};
  const auto results = checked->kernel->call(operands, 1);
  ASSERT_TRUE(results && *results) << "nothing is wrong";
  same(k, operands);
}

TEST(Outside, OtherBlocksAreFollowed) {
  const Spec reversed{.array = {10, 9},
                      .block = {4, 8},
                      .map = "%back, %j",
                      .lines = "%two = arith.constant 2 : i32\n%back = arith.subi %two, %i : i32"};
  TextKernel k({3, 2});
  const Val x = k.input(reversed), o = k.output(kPartialRows);
  k.raw(kNone);
  store(k, load(k, x), o);
  EXPECT_THAT(shadowed(k), Contains("output 0"));
  const auto checked = compileChecked(k.package(), {});
  ASSERT_TRUE(checked && checked->kernel);
  const auto results = checked->kernel->call(std::vector<Array>{counting({10, 9})}, 1);
  EXPECT_TRUE(results && !*results) << "undefined elements came inside";
}

TEST(Outside, BlocksOfOtherSizesAreFollowed) {
  TextKernel k({3, 2});
  const Val x = k.input(kPartialRows), o = k.output({.array = {12, 16}, .block = {4, 8}, .map = "%i, %j"});
  k.raw(kNone);
  store(k, load(k, x), o);
  EXPECT_THAT(shadowed(k), Contains("output 0"));
}

TEST(Outside, MovedOrReloadedElementsNeedAShadow) {
  TextKernel moved({3, 2});
  const Val x = moved.input(kPartialRows), o = moved.output(kPartialRows), r = moved.fresh("vector<4x8xf32>");
  moved.raw(kNone);
  const Val v = load(moved, x);
  const Val one = moved.constant(1);
  moved.raw(r.name + " = \"tpu.dynamic_rotate\"(" + v.name + ", " + one.name + ") <{dimension = 0 : si32}> : (" +
            v.type + ", i32) -> " + v.type);
  store(moved, r, o);
  EXPECT_THAT(shadowed(moved), Contains("output 0"));

  TextKernel again({3, 2});
  const Val y = again.input(kPartialRows), p = again.output({.array = {10, 9}, .block = {4, 8}, .map = "%i, %c0"}),
            q = again.output(kPartialRows);
  again.raw(kNone);
  store(again, load(again, y), p);
  store(again, load(again, p), q);
  EXPECT_THAT(shadowed(again), Contains("output 0")) << "columns past the end become columns of another block";
}

TEST(Outside, BlocksThatAreReadAgainKeepTheirPositions) {
  TextKernel k({3, 2});
  const Val x = k.input(kPartialRows), o = k.output(kPartialRows), p = k.output(kPartialRows);
  k.raw(kNone);
  store(k, load(k, x), o);
  store(k, load(k, o), p);
  EXPECT_THAT(shadowed(k), IsEmpty());
  const auto checked = compileChecked(k.package(), {});
  ASSERT_TRUE(checked && checked->kernel);
  const std::vector<Array> operands{counting({10, 9})};
  const auto results = checked->kernel->call(operands, 1);
  ASSERT_TRUE(results && *results) << "nothing is wrong";
  same(k, operands);
}

}  // namespace
}  // namespace smalti::cpu::testing
