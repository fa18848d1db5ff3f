#include "RunText.h"

namespace smalti::driver {
namespace {

using namespace testing;

std::string genericReduce(const std::string& op, const std::string& from, const std::string& scalar,
                          const std::string& to, const std::string& dims) {
  return "%0 = \"stablehlo.reduce\"(%x, %i) <{dimensions = array<i64: " + dims + ">}> ({\n^bb0(%a: " + scalar +
         ", %b: " + scalar + "):\n  %r = \"stablehlo." + op + "\"(%a, %b) : (" + scalar + ", " + scalar + ") -> " +
         scalar + "\n  \"stablehlo.return\"(%r) : (" + scalar + ") -> ()\n}) : (" + from + ", " + scalar + ") -> " + to;
}

void reduce(const std::string& op, DType t, const std::string& m, const std::vector<double>& x, double init,
            const std::vector<double>& expected) {
  const std::string from = "tensor<2x3x" + m + ">", scalar = "tensor<" + m + ">", to = "tensor<2x" + m + ">";
  expectBoth("(%x: " + from + ", %i: " + scalar + ") -> " + to,
             "%0 = stablehlo.reduce(%x init: %i) applies stablehlo." + op + " across dimensions = [1] : (" + from +
                 ", " + scalar + ") -> " + to,
             genericReduce(op, from, scalar, to, "1"), {make({t, {2, 3}}, x), make({t, {}}, {init})}, {t, {2}},
             expected);
}

TEST(PlainOps, Reduce) {
  reduce("add", DType::f32, "f32", {1, 2, 3, 4, 5, 6}, 10, {16, 25});
  reduce("multiply", DType::i32, "i32", {1, 2, 3, 4, 5, 6}, 1, {6, 120});
  reduce("maximum", DType::f32, "f32", {1, 5, 3, -4, -5, -6}, -1e9, {5, -4});
  reduce("maximum", DType::u8, "ui8", {200, 100, 3, 4, 5, 6}, 0, {200, 6});
  reduce("minimum", DType::i8, "i8", {-100, 100, 3, 4, 5, 6}, 127, {-100, 4});
  reduce("and", DType::pred, "i1", {1, 1, 1, 1, 0, 1}, 1, {1, 0});
  reduce("or", DType::pred, "i1", {0, 0, 0, 1, 0, 1}, 0, {0, 1});
  reduce("add", DType::i64, "i64", {1, 2, 3, 4, 5, 6}, 0, {6, 15});
  reduce("subtract", DType::i32, "i32", {1, 2, 3, 4, 5, 6}, 0, {-6, -15});
}

TEST(PlainOps, ConvolutionInBothForms) {
  // Rows 1 2 3 4, window 1 10, two steps apart, padded by one in front.
  const auto both = [](const std::string& reverse, const std::vector<double>& expected) {
    expectBoth("(%x: tensor<1x4x1xf32>, %w: tensor<2x1x1xf32>) -> tensor<1x2x1xf32>",
               "%0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = "
               "[2], pad = [[1, 0]], reverse = [" +
                   reverse +
                   "]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x1xf32>, "
                   "tensor<2x1x1xf32>) -> tensor<1x2x1xf32>",
               "%0 = \"stablehlo.convolution\"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = "
               "#stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 2, input_spatial_dimensions = "
               "[1], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 2, "
               "kernel_spatial_dimensions = [0], output_batch_dimension = 0, output_feature_dimension = 2, "
               "output_spatial_dimensions = [1]>, feature_group_count = 1 : i64, padding = dense<[[1, 0]]> : "
               "tensor<1x2xi64>, window_reversal = array<i1: " +
                   reverse +
                   ">, window_strides = array<i64: 2>}> : (tensor<1x4x1xf32>, tensor<2x1x1xf32>) -> "
                   "tensor<1x2x1xf32>",
               {make({DType::f32, {1, 4, 1}}, {1, 2, 3, 4}), make({DType::f32, {2, 1, 1}}, {1, 10})},
               {DType::f32, {1, 2, 1}}, expected);
  };
  both("false", {10, 32});
  both("true", {1, 23});
}

TEST(PlainOps, Cholesky) {
  // [[4, 2], [2, 5]] = L · Lᵀ of [[2, 0], [1, 2]]; only one triangle is read.
  expectBoth("(%x: tensor<2x2xf64>) -> tensor<2x2xf64>", "%0 = stablehlo.cholesky %x, lower = true : tensor<2x2xf64>",
             "%0 = \"stablehlo.cholesky\"(%x) <{lower = true}> : (tensor<2x2xf64>) -> tensor<2x2xf64>",
             {make({DType::f64, {2, 2}}, {4, -99, 2, 5})}, {DType::f64, {2, 2}}, {2, 0, 1, 2});
  expectBoth("(%x: tensor<2x2xbf16>) -> tensor<2x2xbf16>", "%0 = stablehlo.cholesky %x : tensor<2x2xbf16>",
             "%0 = \"stablehlo.cholesky\"(%x) <{lower = false}> : (tensor<2x2xbf16>) -> tensor<2x2xbf16>",
             {make({DType::bf16, {2, 2}}, {4, 2, -99, 5})}, {DType::bf16, {2, 2}}, {2, 1, 0, 2});
}

TEST(PlainOps, TriangularSolveOfASingularMatrixDividesByZero) {
  expectRun("(%a: tensor<2x2xf32>, %b: tensor<2x1xf32>) -> tensor<2x1xf32>",
            "%0 = \"stablehlo.triangular_solve\"(%a, %b) <{left_side = true, lower = true, transpose_a = "
            "#stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x2xf32>, tensor<2x1xf32>) -> "
            "tensor<2x1xf32>\n return %0 : tensor<2x1xf32>",
            {make({DType::f32, {2, 2}}, {2, 99, 1, 0}), make({DType::f32, {2, 1}}, {4, 5})}, {DType::f32, {2, 1}},
            {2, INFINITY});
}

TEST(PlainOps, ReduceOfBf16AccumulatesInF32) {
  // 256 + 1 + 1: rounding after every add would stay at 256.
  reduce("add", DType::bf16, "bf16", {256, 1, 1, 0, 0, 0}, 0, {258, 0});
}

TEST(PlainOps, ArgmaxIsAReduceOfTwoArrays) {
  const std::string text = moduleOf("(%x: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xi32>)", R"(
    %n = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.reduce(%x init: %cst), (%n init: %c) across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %2 = stablehlo.compare GT, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.select %2, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %10 = stablehlo.select %2, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
    }
    return %1#0, %1#1 : tensor<2xf32>, tensor<2xi32>)");
  const auto results = runText(text, {make({DType::f32, {2, 3}}, {1, 7, 3, 9, 2, 4})});
  ASSERT_TRUE(results) << results.error().str();
  EXPECT_EQ(numbers((*results)[0]), (std::vector<double>{7, 9}));
  EXPECT_EQ(numbers((*results)[1]), (std::vector<double>{1, 0}));
}

TEST(PlainOps, DotGeneral) {
  expectBoth("(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> tensor<2x2xf32>",
             "%0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : "
             "(tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>",
             "%0 = \"stablehlo.dot_general\"(%x, %y) <{dot_dimension_numbers = "
             "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = "
             "[#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x3xf32>, tensor<3x2xf32>) -> "
             "tensor<2x2xf32>",
             {make({DType::f32, {2, 3}}, {1, 2, 3, 4, 5, 6}), make({DType::f32, {3, 2}}, {1, 2, 3, 4, 5, 6})},
             {DType::f32, {2, 2}}, {22, 28, 49, 64});
  expectBoth("(%x: tensor<2x2xi8>, %y: tensor<2x2xi8>) -> tensor<2xi32>",
             "%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] : "
             "(tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2xi32>",
             "%0 = \"stablehlo.dot_general\"(%x, %y) <{dot_dimension_numbers = "
             "#stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions "
             "= [1], rhs_contracting_dimensions = [1]>}> : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2xi32>",
             {make({DType::i8, {2, 2}}, {100, 100, 1, 2}), make({DType::i8, {2, 2}}, {100, 100, 3, 4})},
             {DType::i32, {2}}, {20000, 11});
}

TEST(PlainOps, SE3_DotPrecisionIsTheTpusOnlyUnderItsNumerics) {
  const std::string text = moduleOf("(%x: tensor<1x1xf32>) -> tensor<1x1xf32>",
                                    "%0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0], precision = "
                                    "[DEFAULT, DEFAULT] : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>\n"
                                    "return %0 : tensor<1x1xf32>");
  const Array x = make({DType::f32, {1, 1}}, {1.00390625});  // rounds to 1 in bf16
  RunSettings tpu;
  tpu.compile.contract.numerics = Numerics::tpu;
  EXPECT_EQ(numbers(runText(text, {x}).value()[0])[0], 1.00390625 * 1.00390625);
  EXPECT_EQ(numbers(runText(text, {x}, tpu).value()[0])[0], 1);
}

}  // namespace
}  // namespace smalti::driver
