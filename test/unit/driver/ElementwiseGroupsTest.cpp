// Which ops of a block are computed together, and in whose memory.
#include "driver/program/ElementwiseGroups.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "RunText.h"

namespace smalti::driver {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Grouped {
  Program program;
  std::vector<StepOps> steps;
  explicit Grouped(
      const std::string& signature, const std::string& body,
      const std::function<bool(const Op&)>& key = [](const Op&) { return false; })
      : program(interop::importStableHlo(moduleOf(signature, body), "groups.mlir").value()),
        steps(groupElementwise(main(), main().ops, key, [](const Op&) { return false; })) {}
  const Function& main() const { return program.functions[static_cast<size_t>(program.main)]; }
  /// The last op of each step; of groups with a +.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const StepOps& step : steps) all.push_back(step.op->name + (step.group ? "+" : ""));
    return all;
  }
};

const std::string kType = "tensor<8x4xf32>";

TEST(ElementwiseGroups, ContainConstantsAndBroadcasts) {
  const Grouped g("(%x: " + kType + ", %row: tensor<4xf32>, %s: tensor<f32>) -> " + kType, R"(
    %c = stablehlo.constant dense<2.0> : tensor<8x4xf32>
    %0 = stablehlo.multiply %x, %c : tensor<8x4xf32>
    %1 = stablehlo.broadcast_in_dim %row, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x4xf32>
    %3 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %4 = stablehlo.subtract %2, %3 : tensor<8x4xf32>
    return %4 : tensor<8x4xf32>)");
  EXPECT_THAT(g.names(), ElementsAre("subtract+", "return"));
  EXPECT_EQ(g.steps[0].group->kernels.kernels(), 3);
  EXPECT_EQ(g.steps[0].operands, g.main().arguments);
}

TEST(ElementwiseGroups, ContainNoOtherBroadcasts) {
  const std::string wide = "tensor<3x1x2x4xf32>";
  for (const auto& [type, dims] : {std::pair{"tensor<2x1x3xf32>", "[2, 1, 0]"}, {"tensor<3x4xf32>", "[0, 3]"}}) {
    const Grouped g(fmt::format("(%x: {}, %y: {}) -> {}", wide, type, wide), fmt::format(R"(
    %0 = stablehlo.broadcast_in_dim %y, dims = {} : ({}) -> {}
    %1 = stablehlo.add %x, %0 : {}
    return %1 : {})",
                                                                                         dims, type, wide, wide, wide));
    EXPECT_THAT(g.names(), ElementsAre("broadcast_in_dim", "add+", "return"));
  }
}

TEST(ElementwiseGroups, GiveWhatOthersUse) {
  const Grouped g("(%x: " + kType + ") -> (" + kType + ", tensor<4xf32>, " + kType + ")", R"(
    %c = stablehlo.constant dense<2.0> : tensor<8x4xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.multiply %x, %c : tensor<8x4xf32>
    %1 = stablehlo.add %0, %c : tensor<8x4xf32>
    %2 = stablehlo.negate %1 : tensor<8x4xf32>
    %3 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    return %2, %3, %c : tensor<8x4xf32>, tensor<4xf32>, tensor<8x4xf32>)");
  EXPECT_THAT(g.names(), ElementsAre("constant", "constant", "negate+", "reduce", "return"));
  EXPECT_EQ(g.steps[2].results().size(), 2u) << "%0 and %2, not %1";
}

TEST(ElementwiseGroups, EndBeforeAnOpThatNeedsThem) {
  const Grouped g("(%x: " + kType + ") -> " + kType, R"(
    %0 = stablehlo.negate %x : tensor<8x4xf32>
    %1 = stablehlo.abs %0 : tensor<8x4xf32>
    %2 = stablehlo.slice %1 [0:1, 0:1] : (tensor<8x4xf32>) -> tensor<1x1xf32>
    %3 = stablehlo.reshape %2 : (tensor<1x1xf32>) -> tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %5 = stablehlo.add %1, %4 : tensor<8x4xf32>
    return %5 : tensor<8x4xf32>)");
  EXPECT_THAT(g.names(), ElementsAre("abs+", "slice", "reshape", "add+", "return"));
}

TEST(ElementwiseGroups, LetSmallOpsRunBeforeThem) {
  const Grouped g("(%x: " + kType + ", %v: tensor<4xf32>) -> " + kType, R"(
    %0 = stablehlo.negate %x : tensor<8x4xf32>
    %1 = stablehlo.slice %v [1:2] : (tensor<4xf32>) -> tensor<1xf32>
    %2 = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %4 = stablehlo.add %0, %3 : tensor<8x4xf32>
    return %4 : tensor<8x4xf32>)");
  EXPECT_THAT(g.names(), ElementsAre("slice", "reshape", "add+", "return"));
}

TEST(ElementwiseGroups, AreOfOneSizeAndOneKey) {
  const std::string signature = "(%x: " + kType + ", %y: tensor<4xf32>) -> (" + kType + ", tensor<4xf32>)";
  const std::string body = R"(
    %0 = stablehlo.negate %x : tensor<8x4xf32>
    %1 = stablehlo.negate %y : tensor<4xf32>
    %2 = stablehlo.abs %0 : tensor<8x4xf32>
    %3 = stablehlo.abs %1 : tensor<4xf32>
    return %2, %3 : tensor<8x4xf32>, tensor<4xf32>)";
  EXPECT_THAT(Grouped(signature, body).names(), ElementsAre("abs+", "abs+", "return"));
  const auto isNegation = [](const Op& op) { return op.name == "negate"; };
  EXPECT_THAT(Grouped(signature, body, isNegation).names(),
              ElementsAre("negate+", "negate+", "abs+", "abs+", "return"));
}

TEST(ElementwiseGroups, ProductsReadOperandsBeforeTheyAreTransposed) {
  const std::string product = R"(
    %0 = stablehlo.transpose %y, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
)";
  const Grouped g("(%x: " + kType + ", %y: " + kType + ") -> tensor<8x8xf32>", product + "return %1 : tensor<8x8xf32>");
  EXPECT_THAT(g.names(), ElementsAre("dot_general", "return"));
  EXPECT_EQ(g.steps[0].operands, g.main().arguments);
  EXPECT_THAT(g.steps[0].permutations, ElementsAre(IsEmpty(), ElementsAre(1, 0)));
  const Grouped both("(%x: " + kType + ", %y: " + kType + ") -> (tensor<8x8xf32>, tensor<4x8xf32>)",
                     product + "return %1, %0 : tensor<8x8xf32>, tensor<4x8xf32>");
  EXPECT_THAT(both.names(), ElementsAre("transpose", "dot_general", "return"));
}

TEST(ElementwiseGroups, ContainReshapesOnlyOfTheirOwnArrays) {
  const Grouped g("(%x: " + kType + ") -> (tensor<32xf32>, tensor<4x8xf32>)", R"(
    %0 = stablehlo.reshape %x : (tensor<8x4xf32>) -> tensor<32xf32>
    %1 = stablehlo.negate %0 : tensor<32xf32>
    %2 = stablehlo.reshape %1 : (tensor<32xf32>) -> tensor<4x8xf32>
    return %0, %2 : tensor<32xf32>, tensor<4x8xf32>)");
  EXPECT_THAT(g.names(), ElementsAre("reshape", "reshape+", "return"));
}

TEST(ElementwiseGroups, LeaveOutWhatNothingNeeds) {
  const Grouped g("(%x: " + kType + ") -> " + kType, R"(
    %0 = stablehlo.negate %x : tensor<8x4xf32>
    %1 = stablehlo.abs %0 : tensor<8x4xf32>
    return %x : tensor<8x4xf32>)");
  EXPECT_THAT(g.names(), ElementsAre("return"));
}

TEST(ElementwiseGroups, OpsWithoutAKernelRunAlone) {
  const Grouped g("(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>", R"(
    %0 = stablehlo.negate %x : tensor<4xcomplex<f32>>
    %1 = stablehlo.add %0, %0 : tensor<4xcomplex<f32>>
    return %1 : tensor<4xcomplex<f32>>)");
  EXPECT_THAT(g.names(), ElementsAre("negate", "add", "return"));
}

TEST(ElementwiseGroups, ReplaceAnOperandThatIsNotReadAfterwards) {
  const Grouped g("(%x: " + kType + ", %y: " + kType + ") -> " + kType, R"(
    %0 = stablehlo.negate %x : tensor<8x4xf32>
    %1 = stablehlo.add %0, %y : tensor<8x4xf32>
    return %1 : tensor<8x4xf32>)");
  const ArrayType type{DType::f32, {8, 4}};
  std::vector<Array> arrays{make(type, {1}), make(type, {5})};
  const std::byte* memory = arrays[0].data();
  const auto results = g.steps[0].group->run(arrays, {&type, 1}, {}, nullptr);
  ASSERT_TRUE(results);
  EXPECT_EQ((*results)[0].data(), memory);
  EXPECT_EQ(numbers((*results)[0]), std::vector<double>(32, 4));
}

TEST(ElementwiseGroups, LeaveOperandsThatAreReadAfterwards) {
  // %0 is stored before %x is read again; %row is read for every row.
  const Grouped g("(%x: " + kType + ", %row: tensor<1x4xf32>) -> (" + kType + ", " + kType + ")", R"(
    %0 = stablehlo.negate %x : tensor<8x4xf32>
    %1 = stablehlo.broadcast_in_dim %row, dims = [0, 1] : (tensor<1x4xf32>) -> tensor<8x4xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x4xf32>
    %3 = stablehlo.multiply %2, %x : tensor<8x4xf32>
    return %0, %3 : tensor<8x4xf32>, tensor<8x4xf32>)");
  const std::vector<ArrayType> types(2, {DType::f32, {8, 4}});
  std::vector<Array> arrays{make(types[0], {3}), make({DType::f32, {1, 4}}, {1, 2, 3, 4})};
  const std::byte* memory = arrays[0].data();
  const auto results = g.steps[0].group->run(arrays, types, {}, nullptr);
  ASSERT_TRUE(results);
  EXPECT_NE((*results)[0].data(), memory);
  EXPECT_EQ((*results)[1].data(), memory);
  EXPECT_EQ(numbers((*results)[0]), std::vector<double>(32, -3));
  EXPECT_THAT(numbers((*results)[1]), ::testing::Contains(3).Times(8));  // (-3 + 4) · 3
}

}  // namespace
}  // namespace smalti::driver
