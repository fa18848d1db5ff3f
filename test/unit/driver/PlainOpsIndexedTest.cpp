// gather, scatter, reduce_window, select_and_scatter, sort and top_k: what they do at the edges, and what is refused
// before they run.
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

/// As XLA, unlike StableHLO's text, which combines padding as if it were the initial value.
TEST(PlainOps, WindowsLeavePaddingOut) {
  const std::string attributes =
      "window_dimensions = array<i64: 3>, window_strides = array<i64: 2>, padding = dense<[[1, 2]]> : tensor<1x2xi64>";
  expectRun(windowSignature("tensor<3xf32>"), window(attributes, "tensor<3xf32>"),
            {f32({4}, {1, 2, 3, 4}), f32({}, {100})}, {DType::f32, {3}}, {103, 109, 104});
}

TEST(PlainOps, CumulativeWindowsAreTheSameInOnePassAndByWindow) {
  const std::string attributes = "window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>";
  expectRun(windowSignature("tensor<4xf32>"), window(attributes, "tensor<4xf32>"),
            {f32({4}, {1, 2, 3, 4}), f32({}, {0})}, {DType::f32, {4}}, {1, 3, 6, 10});
  expectRun(windowSignature("tensor<4xf32>"), window(attributes, "tensor<4xf32>"),
            {f32({4}, {1, 2, 3, 4}), f32({}, {100})}, {DType::f32, {4}}, {101, 103, 106, 110});
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

/// A module with functions that the regions of its main may call, and `more`.
std::string moduleWithCalls(const std::string& signature, const std::string& body, const std::string& more = "") {
  std::string text = moduleOf(signature, body);
  text.erase(text.rfind('}'));
  return text + R"(
  func.func private @where(%p: tensor<i1>, %a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.select %p, %a, %b : tensor<i1>, tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @larger(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
    %p = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %0 = func.call @where(%p, %a, %b) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @half(%a: tensor<f32>) -> tensor<f32> {
    %h = stablehlo.constant dense<0.5> : tensor<f32>
    %0 = stablehlo.multiply %a, %h : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @before(%a: tensor<f32>, %b: tensor<f32>) -> tensor<i1> {
    %0 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    return %0 : tensor<i1>
  }
  func.func private @sums(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
    %v = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %0 = stablehlo.reduce(%v init: %b) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
)" + more +
         "}\n";
}
std::string callOf(const std::string& function) {
  return "%s = func.call @" + function +
         "(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n stablehlo.return %s : tensor<f32>";
}
std::string reduction(const std::string& region) {
  return "%0 = \"stablehlo.reduce\"(%x, %c) <{dimensions = array<i64: 1>}> ({\n^bb0(%a: tensor<f32>, %b: "
         "tensor<f32>):\n " +
         region + "\n}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\n return %0 : tensor<2xf32>";
}
const std::string kReductionSignature = "(%x: tensor<2x3xf32>, %c: tensor<f32>) -> tensor<2xf32>";

std::vector<double> resultOf(const std::string& text, const std::vector<Array>& arguments) {
  const auto results = runText(text, arguments);
  EXPECT_TRUE(results) << results.error().str() << text;
  return results ? numbers((*results)[0]) : std::vector<double>{};
}

TEST(PlainOps, RegionsCallFunctions) {
  const std::vector<Array> arguments{f32({2, 3}, {1, 5, 2, -3, -1, -2}), f32({}, {-9})};
  EXPECT_EQ(resultOf(moduleWithCalls(kReductionSignature, reduction(callOf("larger"))), arguments),
            (std::vector<double>{5, -1}));
  const std::string half =
      "%h = func.call @half(%a) : (tensor<f32>) -> tensor<f32>\n %s = stablehlo.add %h, %b : tensor<f32>\n "
      "stablehlo.return %s : tensor<f32>";
  EXPECT_EQ(resultOf(moduleWithCalls(kReductionSignature, reduction(half)), {f32({2, 3}, {4}), f32({}, {0})}),
            (std::vector<double>{7, 7}));
  EXPECT_EQ(resultOf(moduleWithCalls(kScatterSignature, scatter(callOf("larger"), kWindows)),
                     {f32({4}, {2}), i32({3, 1}, {1, 1, 0}), f32({3, 2}, {1, 9, 3, 4, 5, 6})}),
            (std::vector<double>{5, 6, 9, 2}));
  const std::string sorted =
      "%0 = \"stablehlo.sort\"(%x) <{dimension = 0 : i64}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
      "%s = func.call @before(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<i1>\n stablehlo.return %s : tensor<i1>\n"
      "}) : (tensor<4xf32>) -> tensor<4xf32>\n return %0 : tensor<4xf32>";
  EXPECT_EQ(resultOf(moduleWithCalls("(%x: tensor<4xf32>) -> tensor<4xf32>", sorted), {f32({4}, {3, 1, 4, 2})}),
            (std::vector<double>{1, 2, 3, 4}));
}

TEST(PlainOps, CallsInRegionsThatCannotBeAreRefused) {
  const auto error = [](const std::string& function) {
    const std::string again =
        "func.func private @again(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {\n"
        "%0 = func.call @again(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n return %0 : tensor<f32>\n}\n";
    const auto results =
        runText(moduleWithCalls(kReductionSignature, reduction(callOf(function)), function == "again" ? again : ""),
                {f32({2, 3}, {1}), f32({}, {0})});
    return results ? "" : results.error().str();
  };
  EXPECT_THAT(error("again"), HasSubstr("function 'again' calls itself"));
  EXPECT_THAT(error("missing"), HasSubstr("function 'missing' is called but not defined"));
  EXPECT_THAT(error("half"), HasSubstr("error[SM2006]"));
  EXPECT_THAT(error("sums"), HasSubstr("is not supported in the region of reduce"));
}

/// select_and_scatter of f32[x] and f32[n]; `select` compares, `update` combines.
std::string selecting(const std::string& attributes, int x, int n, const std::string& select = "GE",
                      const std::string& update = "add", const std::string& type = "f32") {
  const std::string scalar = "tensor<" + type + ">", array = "tensor<" + std::to_string(x) + "x" + type + ">";
  const std::string arguments = "^bb0(%a: " + scalar + ", %b: " + scalar + "):\n ";
  return "%0 = \"stablehlo.select_and_scatter\"(%x, %u, %c) <{" + attributes + "}> ({\n" + arguments +
         "%s = stablehlo.compare " + select + ", %a, %b : (" + scalar + ", " + scalar +
         ") -> tensor<i1>\n stablehlo.return %s : tensor<i1>\n}, {\n" + arguments + "%s = stablehlo." + update +
         " %a, %b : " + scalar + "\n stablehlo.return %s : " + scalar + "\n}) : (" + array + ", tensor<" +
         std::to_string(n) + "x" + type + ">, " + scalar + ") -> " + array + "\n return %0 : " + array;
}
std::string selectingSignature(int x, int n, const std::string& type = "f32") {
  const std::string array = "tensor<" + std::to_string(x) + "x" + type + ">";
  return "(%x: " + array + ", %u: tensor<" + std::to_string(n) + "x" + type + ">, %c: tensor<" + type + ">) -> " +
         array;
}
const std::string kPairs = "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>";

void expectSelected(const std::string& attributes, const std::vector<double>& x, const std::vector<double>& updates,
                    double init, const std::vector<double>& expected, const std::string& select = "GE",
                    const std::string& update = "add") {
  const auto nx = static_cast<int64_t>(x.size()), n = static_cast<int64_t>(updates.size());
  expectRun(selectingSignature(static_cast<int>(nx), static_cast<int>(n)),
            selecting(attributes, static_cast<int>(nx), static_cast<int>(n), select, update),
            {f32({nx}, x), f32({n}, updates), f32({}, {init})}, {DType::f32, {nx}}, expected);
}

TEST(PlainOps, SelectAndScatterUpdatesTheSelectedElements) {
  expectSelected(kPairs, {1, 2, 4, 3}, {10, 20}, 0, {0, 10, 20, 0});
  expectSelected(kPairs, {1, 2, 4, 3}, {10, 20}, 0, {10, 0, 0, 20}, "LE");
  // Of equal elements, GE keeps the first and GT takes the last.
  expectSelected(kPairs, {1, 1, 4, 4}, {10, 20}, 0, {10, 0, 20, 0});
  expectSelected(kPairs, {1, 1, 4, 4}, {10, 20}, 0, {0, 10, 0, 20}, "GT");
  // Windows of one element by default.
  expectSelected("", {1, 2, 3}, {10, 20, 30}, 1, {11, 21, 31});
}

TEST(PlainOps, OverlappingWindowsUpdateOneElementInOrder) {
  const std::string overlapping = "window_dimensions = array<i64: 3>";
  expectSelected(overlapping, {1, 2, 9, 3, 4}, {10, 20, 30}, 1, {1, 1, 61, 1, 1});
  expectSelected(overlapping, {1, 2, 9, 3, 4}, {10, 20, 30}, 1, {1, 1, 1 - 10 - 20 - 30, 1, 1}, "GE", "subtract");
}

TEST(PlainOps, PaddingIsNotSelected) {
  // The first window has padding and -5; the last two have padding alone.
  const std::string padded = kPairs + ", padding = dense<[[1, 4]]> : tensor<1x2xi64>";
  expectSelected(padded, {-5, -7, -6}, {10, 20, 30, 40}, 0, {10, 0, 20});
  // Negative padding removes elements.
  expectSelected(kPairs + ", padding = dense<[[-1, -1]]> : tensor<1x2xi64>", {9, 1, 2, 9}, {10}, 0, {0, 0, 10, 0});
}

TEST(PlainOps, SelectionComparesNaNAsGiven) {
  // No comparison with NaN holds, so the later element is selected.
  expectSelected("window_dimensions = array<i64: 3>, window_strides = array<i64: 3>", {NAN, 1, 0, 2, 3, NAN, 1, NAN, 2},
                 {10, 20, 30}, 0, {0, 10, 0, 0, 0, 20, 0, 0, 30});
  expectSelected(kPairs, {1, 2}, {NAN}, 0, {0, NAN});
}

TEST(PlainOps, SelectAndScatterOfNothing) {
  const std::string three = "window_dimensions = array<i64: 3>";
  expectRun(selectingSignature(2, 0), selecting(three, 2, 0), {f32({2}, {1, 2}), f32({0}, {}), f32({}, {7})},
            {DType::f32, {2}}, {7, 7});
  expectRun(selectingSignature(0, 1), selecting(three + ", padding = dense<[[1, 2]]> : tensor<1x2xi64>", 0, 1),
            {f32({0}, {}), f32({1}, {5}), f32({}, {7})}, {DType::f32, {0}}, {});
}

TEST(PlainOps, SelectAndScatterRefusesWhatDoesNotFit) {
  const auto error = [](const std::string& attributes, int n) {
    return errorOf(selectingSignature(4, n), selecting(attributes, 4, n));
  };
  EXPECT_THAT(error(kPairs, 3), HasSubstr("error[SM2006]: types do not fit: select_and_scatter scatters f32[3] to one "
                                          "element of each of the [2] windows of f32[4]"));
  EXPECT_THAT(error("window_dimensions = array<i64: 2, 2>", 2),
              HasSubstr("window_dimensions has 2 entries for f32[4]"));
  EXPECT_THAT(error("window_dimensions = array<i64: 0>", 2), HasSubstr("has impossible windows along dimension 0"));
  EXPECT_THAT(error(kPairs + ", padding = dense<0> : tensor<2x2xi64>", 2), HasSubstr("padding has 4 entries"));
  std::string text = selecting(kPairs, 4, 2);
  const std::string returned = "stablehlo.return %s : tensor<i1>";
  text.replace(text.find(returned), returned.size(), "stablehlo.return %a : tensor<f32>");
  EXPECT_THAT(errorOf(selectingSignature(4, 2), text), HasSubstr("the selection returns (f32[]), not (pred[])"));
  text = selecting(kPairs, 4, 2);
  const std::string updated = "stablehlo.return %s : tensor<f32>";
  text.replace(text.find(updated), updated.size(), "stablehlo.return %a, %b : tensor<f32>, tensor<f32>");
  EXPECT_THAT(errorOf(selectingSignature(4, 2), text), HasSubstr("the update returns (f32[], f32[]), not (f32[])"));
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
