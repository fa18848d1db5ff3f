// What plain ops around kernels cost: passes over memory and their bytes.
#include <gtest/gtest.h>

#include "driver/time/Fusions.h"

namespace smalti::driver {
namespace {

const ArrayType kType{DType::f32, {16, 128}};
const ArrayType kHigh{DType::f32, {1024, 64}};  // compact: the 1024 are neighbours
constexpr double kBytes = 16 * 128 * 4;
constexpr double kHighBytes = 1024 * 64 * 4;

Fusions::Node input(Fusions& f, const ArrayType& type = kType) { return f.source(type, compact(type)); }

TEST(Fusions, AChainOfElementWiseOpsAndTransposesIsOnePass) {
  Fusions f;
  const auto product = f.op("multiply", {input(f), input(f)}, kType);
  f.needed(f.op("broadcast_in_dim", {product}, kType));
  EXPECT_EQ(f.cost().passes, 1);
  EXPECT_DOUBLE_EQ(f.cost().bytes, 3 * kBytes);
}

TEST(Fusions, ATransposeAndItsInverseCostNothing) {
  Fusions f;
  const ArrayType turned{DType::f32, {128, 16}};
  const auto there = f.op("transpose", {input(f)}, turned, {1, 0});
  f.needed(f.op("transpose", {there}, kType, {1, 0}));
  EXPECT_EQ(f.cost().passes, 0);
}

TEST(Fusions, ATransposeThatAKernelReadsIsACopy) {
  Fusions f;
  f.needed(f.op("transpose", {input(f)}, {DType::f32, {128, 16}}, {1, 0}));
  EXPECT_EQ(f.cost().passes, 1);
  EXPECT_DOUBLE_EQ(f.cost().bytes, kBytes + 128 * 128 * 4);  // 16 lanes are 128
}

TEST(Fusions, OtherLanesAndArithmeticAreTwoPasses) {
  Fusions f;
  const ArrayType square{DType::f32, {128, 128}};
  f.needed(f.op("transpose", {f.op("exponential", {input(f, square)}, square)}, square, {1, 0}));
  EXPECT_EQ(f.cost().passes, 2);
}

TEST(Fusions, InputsAndResultsHaveTheLayoutWithTheLeastPadding) {
  Fusions f;
  f.needed(input(f, kHigh));                 // rows for the kernel, of 64 lanes filled up to 128
  f.returned(f.source(kHigh, rowMajor(2)));  // and back
  EXPECT_EQ(f.cost().passes, 2);
  EXPECT_DOUBLE_EQ(f.cost().bytes, 2 * (kHighBytes + 2 * kHighBytes));
}

TEST(Fusions, APartOfAnArrayIsReadAndWrittenAlone) {
  const ArrayType many{DType::f32, {1000, 16, 128}};
  const ArrayType one{DType::f32, {1, 16, 128}};
  Fusions f;
  const auto scanned = f.source(many, rowMajor(3)), made = f.source(many, rowMajor(3), /*overwritable=*/true);
  f.needed(f.op("dynamic_update_slice", {made, f.op("negate", {f.op("dynamic_slice", {scanned}, one)}, one)}, many));
  EXPECT_EQ(f.cost().passes, 1);
  EXPECT_DOUBLE_EQ(f.cost().bytes, 2 * kBytes);
  f.needed(f.op("dynamic_update_slice", {scanned, f.source(one, rowMajor(3))}, many));  // in other memory
  EXPECT_EQ(f.cost().passes, 2);
  EXPECT_DOUBLE_EQ(f.cost().bytes, 2 * kBytes + kBytes + 2000 * kBytes);
}

TEST(Fusions, AValueReturnedTwiceIsCopied) {
  Fusions f;
  const auto result = f.source(kType, rowMajor(2));
  f.returned(result);
  EXPECT_EQ(f.cost().passes, 0);
  f.returned(result);
  EXPECT_EQ(f.cost().passes, 1);
  EXPECT_DOUBLE_EQ(f.cost().bytes, 2 * kBytes);
}

TEST(Fusions, ReshapesAndUnusedValuesCostNothing) {
  Fusions f;
  const auto x = input(f);
  f.needed(f.op("reshape", {x}, {DType::f32, {1, 16, 128}}));
  f.op("exponential", {x}, kType);
  f.needed(x);
  EXPECT_EQ(f.cost().passes, 0);
  EXPECT_DOUBLE_EQ(f.cost().bytes, 0);
}

TEST(Fusions, AReductionIsAPassThatTakesItsOperandsAlong) {
  Fusions f;
  const ArrayType sums{DType::f32, {128}};
  const auto sum = f.op("reduce", {f.op("convert", {input(f)}, kType)}, sums);
  f.needed(f.op("multiply", {sum}, sums));
  EXPECT_EQ(f.cost().passes, 2);
  EXPECT_DOUBLE_EQ(f.cost().bytes, (kBytes + 512) + (512 + 512));
}

TEST(Fusions, AValueThatIsReadTwiceIsWrittenOnce) {
  Fusions f;
  const auto a = f.op("add", {input(f)}, kType);
  f.needed(a);
  f.needed(f.op("negate", {a}, kType));
  EXPECT_EQ(f.cost().passes, 2);
  EXPECT_DOUBLE_EQ(f.cost().bytes, 4 * kBytes);
}

TEST(HbmLayout, IsWhatTheCompilerChooses) {
  const auto order = [](Shape shape) { return compact({DType::bf16, std::move(shape)}); };
  EXPECT_EQ(order({327680, 2880}), (HbmLayout{0, 1}));
  EXPECT_EQ(order({128, 2880, 2880}), (HbmLayout{0, 2, 1}));
  EXPECT_EQ(order({16, 1024, 32, 64}), (HbmLayout{1, 3, 2, 0}));
  EXPECT_EQ(order({4, 100, 128}), (HbmLayout{2, 0, 1}));
  EXPECT_EQ(order({4, 128, 100}), (HbmLayout{1, 0, 2}));
  EXPECT_EQ(order({130, 12, 50}), (HbmLayout{0, 2, 1}));
  EXPECT_EQ(order({12, 50, 130}), (HbmLayout{2, 1, 0}));
}

}  // namespace
}  // namespace smalti::driver
