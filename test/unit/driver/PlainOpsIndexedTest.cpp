// gather, scatter, reduce_window, sort and top_k: what they do at the edges, and what is refused before they run.
#include <gmock/gmock.h>

#include "RunText.h"

namespace smalti::driver {
namespace {

using namespace testing;
using ::testing::HasSubstr;

Array f32(Shape shape, const std::vector<double>& values) { return make({DType::f32, std::move(shape)}, values); }
Array i32(Shape shape, const std::vector<double>& values) { return make({DType::i32, std::move(shape)}, values); }

std::string gatherRows(const std::string& attributes) {
  return "%0 = \"stablehlo.gather\"(%x, %i) <{" + attributes +
         "}> : (tensor<3x2xf32>, tensor<4x1xi32>) -> tensor<4x2xf32>\n    return %0 : tensor<4x2xf32>";
}
const std::string kGatherSignature = "(%x: tensor<3x2xf32>, %i: tensor<4x1xi32>) -> tensor<4x2xf32>";
const std::string kRows =
    "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
    "index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>";

TEST(PlainOps, GatherMovesStartsInside) {
  expectRun(kGatherSignature, gatherRows(kRows),
            {f32({3, 2}, {0, 1, 10, 11, 20, 21}), i32({4, 1}, {1, -5, 99, 2147483647})}, {DType::f32, {4, 2}},
            {10, 11, 0, 1, 20, 21, 20, 21});
}

std::string errorOf(const std::string& signature, const std::string& body, const std::vector<Array>& arguments = {}) {
  const auto results = runText(moduleOf(signature, body), arguments);
  return results ? "" : results.error().str();
}

TEST(PlainOps, GatherRefusesNumbersThatDoNotFit) {
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string attributes = kRows;
    attributes.replace(attributes.find(from), from.size(), to);
    return errorOf(kGatherSignature, gatherRows(attributes));
  };
  EXPECT_THAT(changed("array<i64: 1, 2>", "array<i64: 1, 3>"),
              HasSubstr("error[SM2006]: types do not fit: gather takes 3 elements along dimension 1 of f32[3,2]"));
  EXPECT_THAT(changed("array<i64: 1, 2>", "array<i64: 2, 2>"), HasSubstr("takes 2 elements along dimension 0"));
  EXPECT_THAT(changed("array<i64: 1, 2>", "array<i64: 1>"), HasSubstr("slice_sizes has 1 entries for f32[3,2]"));
  EXPECT_THAT(changed("array<i64: 1, 2>", "array<i64: 1, -2>"), HasSubstr("takes -2 elements"));
  EXPECT_THAT(changed("offset_dims = [1]", "offset_dims = [7]"), HasSubstr("window dimension"));
  EXPECT_THAT(changed("offset_dims = [1]", "offset_dims = []"), HasSubstr("has 0 window dimensions"));
  EXPECT_THAT(changed("collapsed_slice_dims = [0]", "collapsed_slice_dims = [-1]"), HasSubstr("error[SM2006]"));
  EXPECT_THAT(changed("start_index_map = [0]", "start_index_map = [0, 1]"),
              HasSubstr("has positions in 2 dimensions, but index vectors of 1"));
  EXPECT_THAT(changed("index_vector_dim = 1", "index_vector_dim = 3"), HasSubstr("index_vector_dim is 3"));
  EXPECT_THAT(changed("index_vector_dim = 1", "index_vector_dim = 2"), HasSubstr("error[SM2006]"));
  EXPECT_THAT(changed("collapsed_slice_dims = [0]",
                      "collapsed_slice_dims = [], operand_batching_dims = [0], "
                      "start_indices_batching_dims = [0]"),
              HasSubstr("error[SM2006]"));
}

std::string scatter(const std::string& update, const std::string& numbers) {
  return "%0 = \"stablehlo.scatter\"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<" + numbers +
         ">}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n" + update +
         "\n}) : (tensor<4xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<4xf32>\n    return %0 : tensor<4xf32>";
}
const std::string kScatterSignature = "(%x: tensor<4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x2xf32>) -> tensor<4xf32>";
const std::string kWindows = "update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1";

TEST(PlainOps, ScatterLeavesOutWindowsThatReachOutside) {
  const std::string add = "%s = stablehlo.add %a, %b : tensor<f32>\n stablehlo.return %s : tensor<f32>";
  expectRun(kScatterSignature, scatter(add, kWindows),
            {f32({4}, {0}), i32({3, 1}, {3, -1, 2}), f32({3, 2}, {1, 2, 3, 4, 5, 6})}, {DType::f32, {4}}, {0, 0, 5, 6});
}

TEST(PlainOps, ScatterUpdatesInOrder) {
  const std::string last = "stablehlo.return %b : tensor<f32>";
  const std::vector<Array> arguments{f32({4}, {0}), i32({3, 1}, {1, 1, 0}), f32({3, 2}, {1, 2, 3, 4, 5, 6})};
  expectRun(kScatterSignature, scatter(last, kWindows), arguments, {DType::f32, {4}}, {5, 6, 4, 0});
  // ((0 + 0)/2 + …)/2: each update sees what the one before has left.
  const std::string half =
      "%s = stablehlo.add %a, %b : tensor<f32>\n %h = stablehlo.constant dense<0.5> : tensor<f32>\n"
      "%m = stablehlo.multiply %s, %h : tensor<f32>\n stablehlo.return %m : tensor<f32>";
  expectRun(kScatterSignature, scatter(half, kWindows), arguments, {DType::f32, {4}}, {2.5, 3.875, 2.5, 0});
}

TEST(PlainOps, ScatterRefusesNumbersThatDoNotFit) {
  const std::string last = "stablehlo.return %b : tensor<f32>";
  EXPECT_THAT(errorOf(kScatterSignature, scatter(last, "update_window_dims = [1], index_vector_dim = 1")),
              HasSubstr("error[SM2006]: types do not fit: scatter has positions in 0 dimensions"));
  EXPECT_THAT(errorOf(kScatterSignature, scatter(last, "scatter_dims_to_operand_dims = [0], index_vector_dim = 1")),
              HasSubstr("has 0 window dimensions"));
  EXPECT_THAT(errorOf(kScatterSignature, scatter("stablehlo.return %a, %b : tensor<f32>, tensor<f32>", kWindows)),
              HasSubstr("the update returns"));
}

std::string window(const std::string& attributes, const std::string& result) {
  return "%0 = \"stablehlo.reduce_window\"(%x, %c) <{" + attributes +
         "}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n %s = stablehlo.add %a, %b : tensor<f32>\n stablehlo.return "
         "%s : tensor<f32>\n}) : (tensor<4xf32>, tensor<f32>) -> " +
         result + "\n    return %0 : " + result;
}
std::string windowSignature(const std::string& result) { return "(%x: tensor<4xf32>, %c: tensor<f32>) -> " + result; }

TEST(PlainOps, WindowsSeePaddingAsInit) {
  const std::string attributes =
      "window_dimensions = array<i64: 3>, window_strides = array<i64: 2>, padding = dense<[[1, 2]]> : tensor<1x2xi64>";
  expectRun(windowSignature("tensor<3xf32>"), window(attributes, "tensor<3xf32>"),
            {f32({4}, {1, 2, 3, 4}), f32({}, {100})}, {DType::f32, {3}}, {203, 109, 304});
}

TEST(PlainOps, CumulativeWindowsAreTheSameInOnePassAndByWindow) {
  // With an init that adding changes, each window adds it as often as it sees padding.
  const std::string attributes = "window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>";
  expectRun(windowSignature("tensor<4xf32>"), window(attributes, "tensor<4xf32>"),
            {f32({4}, {1, 2, 3, 4}), f32({}, {0})}, {DType::f32, {4}}, {1, 3, 6, 10});
  expectRun(windowSignature("tensor<4xf32>"), window(attributes, "tensor<4xf32>"),
            {f32({4}, {1, 2, 3, 4}), f32({}, {100})}, {DType::f32, {4}}, {401, 303, 206, 110});
}

TEST(PlainOps, WindowsThatCannotBeAreRefused) {
  for (const std::string attributes :
       {"window_dimensions = array<i64: 0>", "window_dimensions = array<i64>",
        "window_dimensions = array<i64: 3>, window_strides = array<i64: 0>",
        "window_dimensions = array<i64: 3>, base_dilations = array<i64: 9223372036854775807>",
        "window_dimensions = array<i64: 3>, padding = dense<[[-9, 0]]> : tensor<1x2xi64>",
        "window_dimensions = array<i64: 3>, padding = dense<0> : tensor<3x2xi64>", "window_dimensions = array<i64: 2>"})
    EXPECT_THAT(errorOf(windowSignature("tensor<9xf32>"), window(attributes, "tensor<9xf32>")),
                HasSubstr("error[SM2006]"))
        << attributes;
  EXPECT_THAT(errorOf(windowSignature("tensor<9xf32>"),
                      window("window_dimensions = array<i64: 3>, padding = dense<0> : tensor<2xi64>", "tensor<9xf32>")),
              HasSubstr("error[SM2007]"));
}

TEST(PlainOps, SortKeepsTheOrderOfEqualElements) {
  const std::string text = moduleOf("(%k: tensor<6xi32>, %v: tensor<6xf32>) -> (tensor<6xi32>, tensor<6xf32>)", R"(
    %0:2 = "stablehlo.sort"(%k, %v) <{dimension = 0 : i64}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<f32>):
      %1 = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) : (tensor<6xi32>, tensor<6xf32>) -> (tensor<6xi32>, tensor<6xf32>)
    return %0#0, %0#1 : tensor<6xi32>, tensor<6xf32>)");
  const auto results = runText(text, {i32({6}, {1, 3, 1, 2, 3, 1}), f32({6}, {0, 1, 2, 3, 4, 5})});
  ASSERT_TRUE(results) << results.error().str();
  EXPECT_EQ(numbers((*results)[0]), (std::vector<double>{3, 3, 2, 1, 1, 1}));
  EXPECT_EQ(numbers((*results)[1]), (std::vector<double>{1, 4, 3, 0, 2, 5}));
}

TEST(PlainOps, SortRefusesOperandsThatDoNotFit) {
  const auto sorted = [](const std::string& dimension, const std::string& returned) {
    return errorOf("(%x: tensor<6xi32>) -> tensor<6xi32>",
                   "%0 = \"stablehlo.sort\"(%x) <{dimension = " + dimension +
                       " : i64}> ({\n^bb0(%a: tensor<i32>, %b: tensor<i32>):\n %1 = stablehlo.compare LT, %a, %b : "
                       "(tensor<i32>, tensor<i32>) -> tensor<i1>\n stablehlo.return " +
                       returned + "\n}) : (tensor<6xi32>) -> tensor<6xi32>\n return %0 : tensor<6xi32>",
                   {i32({6}, {1})});
  };
  EXPECT_EQ(sorted("-1", "%1 : tensor<i1>"), "");
  EXPECT_THAT(sorted("1", "%1 : tensor<i1>"), HasSubstr("sort sorts along dimension 1 of i32[6]"));
  EXPECT_THAT(sorted("0", "%a : tensor<i32>"), HasSubstr("the comparison returns (i32[]), not (pred[])"));
}

TEST(PlainOps, TopKOfSpecialValuesAndTooMany) {
  const auto topK = [](const std::string& k) {
    return "%0, %1 = chlo.top_k(%x, k = " + k + ") : tensor<5xf32> -> (tensor<3xf32>, tensor<3xi32>)\n" +
           "return %1 : tensor<3xi32>";
  };
  const std::string signature = "(%x: tensor<5xf32>) -> tensor<3xi32>";
  expectRun(signature, topK("3"), {f32({5}, {-0.0, NAN, 0.0, -1, INFINITY})}, {DType::i32, {3}}, {1, 4, 2});
  EXPECT_THAT(errorOf(signature, topK("6")), HasSubstr("top_k takes 6 of f32[5]"));
  EXPECT_THAT(errorOf(signature, topK("2")), HasSubstr("top_k takes 2 of f32[5] as f32[3] and i32[3]"));
}

TEST(PlainOps, ErfInv) {
  expectBoth("(%x: tensor<5xf32>) -> tensor<5xf32>", "%0 = chlo.erf_inv %x : tensor<5xf32> -> tensor<5xf32>",
             "%0 = \"chlo.erf_inv\"(%x) : (tensor<5xf32>) -> tensor<5xf32>", {f32({5}, {0, 1, -1, 0.5, -0.9})},
             {DType::f32, {5}}, {0, INFINITY, -INFINITY, 0.4769362762, -1.1630871537}, 1e-6);
}

TEST(PlainOps, ArraysOfTooManyDimensionsAreRefused) {
  std::string type = "tensor<";
  for (int i = 0; i < 13; ++i) type += "1x";
  type += "f32>";
  EXPECT_THAT(errorOf("(%x: " + type + ") -> " + type, "return %x : " + type),
              HasSubstr("error[SM2003]: an array has more than 12 dimensions"));
}

}  // namespace
}  // namespace smalti::driver
