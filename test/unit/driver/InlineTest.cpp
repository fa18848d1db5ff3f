// Calls of small functions become their ops; test_program_groups.py compares values with JAX.
#include "ir/program/Inline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "RunText.h"

namespace smalti::driver {
namespace {

/// "f: add call return, g: …", with the ops of regions in brackets.
std::string text(const std::vector<Op>& ops) {
  std::vector<std::string> names;
  for (const Op& op : ops) {
    names.push_back(op.name);
    for (const Block& block : op.regions) names.back() += "[" + text(block.ops) + "]";
  }
  return fmt::format("{}", fmt::join(names, " "));
}
std::string inlined(const Program& program) {
  std::vector<std::string> functions;
  for (const Function& f : withSmallCallsInlined(program)) functions.push_back(f.name + ": " + text(f.ops));
  return fmt::format("{}", fmt::join(functions, ", "));
}

const std::string kSwap = R"(
  func.func private @swap(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
    %0 = stablehlo.subtract %b, %a : tensor<f32>
    return %b, %a, %0 : tensor<f32>, tensor<f32>, tensor<f32>
  })";

TEST(Inline, CallsWithinCallsAndOfSeveralResults) {
  const Program program = testing::programOf(R"(
module @test {
  func.func public @main(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %0:3 = call @swap(%x, %y) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
    %1:3 = call @swap(%0#0, %0#2) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
    %2 = call @twice(%1#2) : (tensor<f32>) -> tensor<f32>
    return %2, %1#1 : tensor<f32>, tensor<f32>
  }
  func.func private @twice(%a: tensor<f32>) -> tensor<f32> {
    %0:3 = call @swap(%a, %a) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
    %1 = stablehlo.add %0#0, %0#1 : tensor<f32>
    return %1 : tensor<f32>
  })" + kSwap + "\n}");
  EXPECT_EQ(inlined(program), "main: subtract subtract subtract add return");
  // y - x = 7; swapped: 7, y, and 7 - y
  for (const char* target : {"interpret", "cpu"}) {
    const std::vector<Array> arguments{testing::make({DType::f32, {}}, {3}), testing::make({DType::f32, {}}, {10})};
    const auto ran = runProgram(program, arguments, {{.target = target}, {}});
    ASSERT_TRUE(ran) << ran.error().str();
    EXPECT_EQ(*ran->results[0].as<float>(), 2 * (7.f - 10.f));
    EXPECT_EQ(*ran->results[1].as<float>(), 10.f);
  }
}

TEST(Inline, InRegionsAndOfFunctionsWithRegions) {
  const Program program = testing::programOf(R"(
module @test {
  func.func public @main(%n: tensor<i32>) -> tensor<i32> {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = stablehlo.while(%i = %n, %s = %one) : tensor<i32>, tensor<i32>
      cond {
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %1 = stablehlo.compare GT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %1 = func.call @step(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
        %2 = func.call @product(%s, %i) : (tensor<i32>, tensor<i32>) -> tensor<i32>
        stablehlo.return %1, %2 : tensor<i32>, tensor<i32>
      }
    return %0#1 : tensor<i32>
  }
  func.func private @step(%i: tensor<i32>, %by: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.subtract %i, %by : tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @product(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare GT, %b, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = "stablehlo.if"(%0) ({
      %2 = stablehlo.multiply %a, %b : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }, {
      stablehlo.return %a : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>
    return %1 : tensor<i32>
  }
})");
  EXPECT_EQ(
      inlined(program),
      "main: constant while[constant compare return][subtract constant compare if[multiply return][return] return] "
      "return");
  for (const char* target : {"interpret", "cpu"}) {
    const std::vector<Array> arguments{testing::make({DType::i32, {}}, {5})};
    const auto ran = runProgram(program, arguments, {{.target = target}, {}});
    ASSERT_TRUE(ran) << ran.error().str();
    EXPECT_EQ(*ran->results[0].as<int32_t>(), 120);
  }
}

TEST(Inline, LargeFunctionsStayAndUnreachedOnesGo) {
  std::string many;
  for (int i = 0; i < kMostInlinedOps; ++i)
    many += fmt::format("    %{} = stablehlo.add %{}, %a : tensor<f32>\n", i + 1, i);
  const Program program = testing::programOf(R"(
module @test {
  func.func public @main(%x: tensor<f32>) -> tensor<f32> {
    %0 = call @large(%x) : (tensor<f32>) -> tensor<f32>
    %1 = call @callsLarge(%0) : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  func.func private @callsLarge(%a: tensor<f32>) -> tensor<f32> {
    %0 = call @large(%a) : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @unused(%a: tensor<f32>) -> tensor<f32> {
    return %a : tensor<f32>
  }
  func.func private @large(%a: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %a, %a : tensor<f32>
)" + many + fmt::format("    return %{} : tensor<f32>\n  }}\n}}", kMostInlinedOps));
  const auto functions = withSmallCallsInlined(program);
  ASSERT_EQ(functions.size(), 3U);
  EXPECT_EQ(functions[0].name, "main");
  EXPECT_EQ(text(functions[0].ops), "call call return");
}

}  // namespace
}  // namespace smalti::driver
