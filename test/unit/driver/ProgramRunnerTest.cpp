#include <gmock/gmock.h>

#include "RunText.h"

namespace smalti::driver {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(ProgramRunner, CallsPrivateFunctionsWithSeveralResults) {
  const auto results = runText(R"(module @m {
  func.func public @main(%arg0: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %0:2 = call @"<lambda>"(%arg0) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    return %0#1, %0#0 : tensor<2xf32>, tensor<2xf32>
  }
  func.func private @"<lambda>"(%arg0: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %0 = func.call @twice(%arg0) : (tensor<2xf32>) -> tensor<2xf32>
    return %arg0, %0 : tensor<2xf32>, tensor<2xf32>
  }
  func.func private @twice(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
})",
                               {make({DType::f32, {2}}, {1, 2})});
  ASSERT_TRUE(results) << results.error().str();
  EXPECT_EQ(numbers((*results)[0]), (std::vector<double>{2, 4}));
  EXPECT_EQ(numbers((*results)[1]), (std::vector<double>{1, 2}));
}

TEST(ProgramRunner, While) {
  expectRun("(%x: tensor<f32>, %n: tensor<i32>) -> tensor<f32>", R"(
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:3 = stablehlo.while(%iterArg = %c, %iterArg_0 = %n, %iterArg_1 = %x) : tensor<i32>, tensor<i32>, tensor<f32>
    cond {
      %1 = stablehlo.compare LT, %iterArg, %iterArg_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      %2 = stablehlo.add %iterArg_1, %iterArg_1 : tensor<f32>
      stablehlo.return %1, %iterArg_0, %2 : tensor<i32>, tensor<i32>, tensor<f32>
    }
    return %0#2 : tensor<f32>)",
            {make({DType::f32, {}}, {1.5}), make({DType::i32, {}}, {5})}, {DType::f32, {}}, {48});
}

/// jax.lax.empty, which vmap of a kernel with scalar prefetch makes for a loop to fill.
TEST(ProgramRunner, AnAllocatedBufferIsZeros) {
  expectRun("() -> tensor<2x2xi32>", R"(
    %0 = stablehlo.custom_call @AllocateBuffer() : () -> tensor<2x2xi32>
    return %0 : tensor<2x2xi32>)",
            {}, {DType::i32, {2, 2}}, {0, 0, 0, 0});
}

TEST(ProgramRunner, EndlessLoopsStopAtTheStepLimit) {
  RunSettings options;
  options.execute.stepLimit = 100;
  const auto results = runText(moduleOf("(%x: tensor<f32>) -> tensor<f32>", R"(
    %0 = stablehlo.while(%a = %x) : tensor<f32> cond {
      %1 = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      stablehlo.return %a : tensor<f32>
    }
    return %0 : tensor<f32>)"),
                               {make({DType::f32, {}}, {1})}, options);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().str(),
            "error[SM5005]: a loop around the kernels exceeds the iteration limit\n"
            "  --> test.mlir:4:10\n"
            "  need: at most 100 iterations\n"
            "  help: check the loop's condition, or raise the step limit\n");
}

TEST(ProgramRunner, CaseTakesTheLastBranchWhenOutOfRange) {
  for (const auto& [index, expected] : {std::pair{0.0, 1.0}, {1.0, 2.0}, {7.0, 2.0}, {-1.0, 2.0}})
    expectRun("(%i: tensor<i32>) -> tensor<f32>", R"(
    %0 = "stablehlo.case"(%i) ({
      %c = stablehlo.constant dense<1.0> : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }, {
      %c = stablehlo.constant dense<2.0> : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    return %0 : tensor<f32>)",
              {make({DType::i32, {}}, {index})}, {DType::f32, {}}, {expected});
}

TEST(ProgramRunner, ArgumentsAreChecked) {
  const std::string text = moduleOf("(%x: tensor<2xf32>) -> tensor<2xf32>", "return %x : tensor<2xf32>");
  auto wrongType = runText(text, {make({DType::f32, {3}}, {1})});
  ASSERT_FALSE(wrongType);
  EXPECT_EQ(wrongType.error().str(),
            "error[SM5001]: argument 0 is of the wrong type\n"
            "   in program 'test'\n"
            "  need: f32[2]\n"
            "  have: f32[3]\n"
            "  help: convert the array, or export the program for these shapes\n");
  auto wrongCount = runText(text, {});
  ASSERT_FALSE(wrongCount);
  EXPECT_EQ(wrongCount.error().str(),
            "error[SM5001]: the program gets the wrong number of arguments\n"
            "   in program 'test'\n"
            "  need: 1 arrays\n"
            "  have: 0 arrays\n"
            "  help: give one array for each argument of main\n");
}

TEST(ProgramRunner, MissingEvaluationsNameOpAndType) {
  auto results = runText(moduleOf("(%x: tensor<2xi1>) -> tensor<2xi1>",
                                  "%0 = stablehlo.divide %x, %x : tensor<2xi1>\nreturn %0 : tensor<2xi1>"),
                         {make({DType::pred, {2}}, {1, 1})});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().str(),
            "error[SM5002]: op 'divide' is not supported on pred\n"
            "  --> test.mlir:3:6\n"
            "  help: convert the operands first, e.g. to float32 or int32\n");
}

// ---- several devices

constexpr const char* kMesh = "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n";

std::string manual(const std::string& body) {
  return std::string("module @m {\n") + kMesh +
         "  func.func public @main(%arg0: tensor<4x4xi32>) -> tensor<4x4xi32> {\n" + body + "  }\n}\n";
}
const Array& grid() {
  static const Array array = [] {
    std::vector<double> values;
    for (int i = 0; i < 16; ++i) values.push_back(i);
    return make({DType::i32, {4, 4}}, values);
  }();
  return array;
}

TEST(ManualComputation, DevicesAreNumberedRowMajorOverTheMesh) {
  const auto results = runText(manual(R"(
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"y"}, {"x"}]>] out_shardings=[<@mesh, [{"y"}, {"x"}]>] manual_axes={"x", "y"} (%arg1: tensor<2x2xi32>) {
      %1 = stablehlo.partition_id : tensor<ui32>
      %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
      %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<2x2xi32>
      sdy.return %3 : tensor<2x2xi32>
    } : (tensor<4x4xi32>) -> tensor<4x4xi32>
    return %0 : tensor<4x4xi32>
)"),
                               {grid()});
  ASSERT_TRUE(results) << results.error().str();
  EXPECT_EQ(numbers((*results)[0]), (std::vector<double>{0, 0, 2, 2, 0, 0, 2, 2, 1, 1, 3, 3, 1, 1, 3, 3}));
}

TEST(ManualComputation, ShardsAreReassembledInPlace) {
  const auto results = runText(manual(R"(
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}, {}]>] out_shardings=[<@mesh, [{"x", "y"}, {}]>] manual_axes={"x", "y"} (%arg1: tensor<1x4xi32>) {
      %1 = func.call @same(%arg1) : (tensor<1x4xi32>) -> tensor<1x4xi32>
      sdy.return %1 : tensor<1x4xi32>
    } : (tensor<4x4xi32>) -> tensor<4x4xi32>
    %2 = sdy.sharding_constraint %0 <@mesh, [{}, {?}]> : tensor<4x4xi32>
    return %2 : tensor<4x4xi32>
  }
  func.func private @same(%arg0: tensor<1x4xi32>) -> tensor<1x4xi32> {
    return %arg0 : tensor<1x4xi32>
)"),
                               {grid()});
  ASSERT_TRUE(results) << results.error().str();
  EXPECT_EQ(numbers((*results)[0]), numbers(grid()));
}

TEST(ManualComputation, NestsOverFreeAxes) {
  const auto results = runText(manual(R"(
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<2x4xi32>) {
      %1 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"y"} (%arg2: tensor<2x2xi32>) {
        %2 = stablehlo.partition_id : tensor<ui32>
        %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i32>
        %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i32>) -> tensor<2x2xi32>
        sdy.return %4 : tensor<2x2xi32>
      } : (tensor<2x4xi32>) -> tensor<2x4xi32>
      sdy.return %1 : tensor<2x4xi32>
    } : (tensor<4x4xi32>) -> tensor<4x4xi32>
    return %0 : tensor<4x4xi32>
)"),
                               {grid()});
  ASSERT_TRUE(results) << results.error().str();
  EXPECT_EQ(numbers((*results)[0]), (std::vector<double>{0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3}));
}

TEST(ManualComputation, ReplicatedResultsMustBeEqual) {
  const auto results = runText(manual(R"(
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%arg1: tensor<2x4xi32>) {
      %1 = stablehlo.partition_id : tensor<ui32>
      %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
      %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
      sdy.return %3 : tensor<2x4xi32>
    } : (tensor<4x4xi32>) -> tensor<4x4xi32>
    return %0 : tensor<4x4xi32>
)"),
                               {grid()});
  ASSERT_FALSE(results);
  EXPECT_EQ(
      results.error().str(),
      "error[SM5003]: result 0 of a shard_map must be equal on devices that hold the same part of it, but is not\n"
      "  --> test.mlir:5:10\n"
      "  have: different elements on devices (x=0, y=0) and (x=0, y=1)\n"
      "  help: name in out_specs every mesh axis over which the result differs\n");
}

TEST(ManualComputation, DevicesMayBranchApart) {
  const auto results = runText(manual(R"(
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}, {}]>] out_shardings=[<@mesh, [{"x", "y"}, {}]>] manual_axes={"x", "y"} (%arg1: tensor<1x4xi32>) {
      %1 = stablehlo.partition_id : tensor<ui32>
      %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
      %3 = "stablehlo.case"(%2) ({
        %4 = stablehlo.negate %arg1 : tensor<1x4xi32>
        stablehlo.return %4 : tensor<1x4xi32>
      }, {
        stablehlo.return %arg1 : tensor<1x4xi32>
      }) : (tensor<i32>) -> tensor<1x4xi32>
      sdy.return %3 : tensor<1x4xi32>
    } : (tensor<4x4xi32>) -> tensor<4x4xi32>
    return %0 : tensor<4x4xi32>
)"),
                               {grid()});
  ASSERT_TRUE(results) << results.error().str();
  auto expected = numbers(grid());
  for (int i = 0; i < 4; ++i) expected[i] = -expected[i];
  EXPECT_EQ(numbers((*results)[0]), expected);
}

}  // namespace
}  // namespace smalti::driver
