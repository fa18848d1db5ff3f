// Reductions along dimensions of size 1 become element-wise ops.
#include "ir/program/UnitReductions.h"

#include <gtest/gtest.h>

#include "RunText.h"

namespace smalti::driver {
namespace {

std::string expanded(Program program) {
  expandUnitReductions(program.functions[0]);
  EXPECT_TRUE(verify(program));
  std::string names;
  for (const Op& op : program.functions[0].ops) names += op.name + " ";
  return names;
}
std::string reduction(const std::string& op, const std::string& from, const std::string& dims, const std::string& to) {
  return testing::moduleOf("(%x: tensor<" + from + ">, %i: tensor<f32>) -> tensor<" + to + ">",
                           "%0 = stablehlo.reduce(%x init: %i) applies stablehlo." + op + " across dimensions = [" +
                               dims + "] : (tensor<" + from + ">, tensor<f32>) -> tensor<" + to +
                               ">\n    return %0 : tensor<" + to + ">");
}

TEST(UnitReductions, BecomeTheOpOfTheInitialValueAndTheElement) {
  EXPECT_EQ(expanded(testing::programOf(reduction("maximum", "4x1xf32", "1", "4xf32"))),
            "reshape broadcast_in_dim maximum return ");
  EXPECT_EQ(expanded(testing::programOf(reduction("add", "1x4x1xf32", "0, 2", "4xf32"))),
            "reshape broadcast_in_dim add return ");
  EXPECT_EQ(expanded(testing::programOf(reduction("add", "0x1xf32", "1", "0xf32"))),
            "reshape broadcast_in_dim add return ");
}

TEST(UnitReductions, OthersStay) {
  EXPECT_EQ(expanded(testing::programOf(reduction("add", "4x2xf32", "1", "4xf32"))), "reduce return ");
  EXPECT_EQ(expanded(testing::programOf(reduction("add", "4x1xf32", "0, 1", "f32"))), "reduce return ");
}

/// In an order that matters, with a NaN and a zero of each sign.
TEST(UnitReductions, KeepValues) {
  const std::string text = R"(module @test {
  func.func public @main(%x: tensor<4x1xf32>, %i: tensor<f32>) -> tensor<4xf32> {
    %0 = stablehlo.reduce(%x init: %i) across dimensions = [1] : (tensor<4x1xf32>, tensor<f32>) -> tensor<4xf32>
     reducer(%acc: tensor<f32>, %e: tensor<f32>) {
      %1 = stablehlo.subtract %e, %acc : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }
    return %0 : tensor<4xf32>
  }
})";
  for (const char* target : {"interpret", "cpu"}) {
    const std::vector<Array> arguments{testing::make({DType::f32, {4, 1}}, {3, -0.0, 0.0, NAN}),
                                       testing::make({DType::f32, {}}, {0.0})};
    const auto ran = runProgram(testing::programOf(text), arguments, {{.target = target}, {}});
    ASSERT_TRUE(ran) << ran.error().str();
    const float* out = ran->results[0].as<float>();
    EXPECT_EQ(out[0], 3);
    EXPECT_TRUE(std::signbit(out[1]));
    EXPECT_FALSE(std::signbit(out[2]));
    EXPECT_TRUE(std::isnan(out[3]));
  }
}

}  // namespace
}  // namespace smalti::driver
