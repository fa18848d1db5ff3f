#include <fmt/format.h>

#include "RunText.h"

namespace smalti::driver {
namespace {

using namespace testing;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::string mlirType(const ArrayType& type) {
  std::string text = "tensor<";
  for (const int64_t d : type.shape) text += fmt::format("{}x", d);
  const std::string element = type.dtype == DType::pred         ? "i1"
                              : is_unsigned_integer(type.dtype) ? "ui" + std::string(name(type.dtype).substr(1))
                                                                : std::string(name(type.dtype));
  return text + element + ">";
}

void unary(const std::string& op, DType t, const std::vector<double>& x, const std::vector<double>& expected,
           double tolerance = 0) {
  const ArrayType type{t, {static_cast<int64_t>(x.size())}};
  const std::string m = mlirType(type);
  expectBoth(fmt::format("(%x: {}) -> {}", m, m), fmt::format("%0 = stablehlo.{} %x : {}", op, m),
             fmt::format("%0 = \"stablehlo.{}\"(%x) : ({}) -> {}", op, m, m), {make(type, x)}, type, expected,
             tolerance);
}

void binary(const std::string& op, DType t, const std::vector<double>& x, const std::vector<double>& y,
            const std::vector<double>& expected, double tolerance = 0) {
  const ArrayType type{t, {static_cast<int64_t>(x.size())}};
  const std::string m = mlirType(type);
  expectBoth(fmt::format("(%x: {0}, %y: {0}) -> {0}", m), fmt::format("%0 = stablehlo.{} %x, %y : {}", op, m),
             fmt::format("%0 = \"stablehlo.{0}\"(%x, %y) : ({1}, {1}) -> {1}", op, m), {make(type, x), make(type, y)},
             type, expected, tolerance);
}

TEST(PlainOps, Arithmetic) {
  binary("add", DType::f32, {1, 2.5}, {3, -1}, {4, 1.5});
  binary("add", DType::u8, {250, 1}, {10, 2}, {4, 3});
  binary("add", DType::u4, {15, 1}, {2, 2}, {1, 3});
  binary("add", DType::i4, {7, 1}, {1, -3}, {-8, -2});
  binary("add", DType::pred, {0, 1, 1}, {0, 0, 1}, {0, 1, 1});
  binary("subtract", DType::bf16, {1, 300}, {0.5, 1}, {0.5, 300});
  binary("multiply", DType::i32, {65536, -3}, {65536, 7}, {0, -21});
  binary("multiply", DType::pred, {0, 1, 1}, {1, 0, 1}, {0, 0, 1});
  binary("maximum", DType::f32, {1, kNaN, -1}, {2, 1, -2}, {2, kNaN, -1});
  binary("minimum", DType::u8, {200, 3}, {100, 5}, {100, 3});
  binary("minimum", DType::i8, {-56, 3}, {100, 5}, {-56, 3});
  binary("power", DType::f32, {2, 3}, {10, 2}, {1024, 9}, 1e-4);
  binary("atan2", DType::f32, {1, 0}, {1, 1}, {0.7853981633974483, 0}, 1e-6);
}

TEST(PlainOps, DivisionNeverTraps) {
  binary("divide", DType::i32, {7, -7, 1, INT32_MIN}, {2, 2, 0, -1}, {3, -3, -1, INT32_MIN});
  binary("divide", DType::u32, {4000000000.0, 1}, {2, 0}, {2000000000.0, 4294967295.0});
  binary("divide", DType::f32, {1, -1, 0}, {0, 0, 0}, {kInf, -kInf, kNaN});
  binary("remainder", DType::i32, {7, -7, 5, INT32_MIN}, {2, 2, 0, -1}, {1, -1, 5, 0});
  binary("remainder", DType::f32, {7.5, -7.5}, {2, 2}, {1.5, -1.5});
}

TEST(PlainOps, BitsAndShifts) {
  binary("and", DType::i32, {12, -1}, {10, 5}, {8, 5});
  binary("or", DType::pred, {0, 1}, {0, 0}, {0, 1});
  binary("xor", DType::u8, {255, 3}, {15, 1}, {240, 2});
  binary("shift_left", DType::i32, {1, 1, 1}, {4, 31, 32}, {16, INT32_MIN, 0});
  binary("shift_right_logical", DType::i8, {-1, -128}, {4, 9}, {15, 0});
  binary("shift_right_arithmetic", DType::i8, {-128, -128}, {4, 9}, {-8, -1});
  unary("not", DType::pred, {0, 1}, {1, 0});
  unary("not", DType::u4, {0, 5}, {15, 10});
  unary("not", DType::i32, {0, 5}, {-1, -6});
  unary("popcnt", DType::u8, {255, 3}, {8, 2});
  unary("count_leading_zeros", DType::i32, {1, 0}, {31, 32});
}

TEST(PlainOps, Unary) {
  unary("negate", DType::f32, {1, -2}, {-1, 2});
  unary("negate", DType::i32, {1, INT32_MIN}, {-1, INT32_MIN});
  unary("negate", DType::u8, {1, 0}, {255, 0});
  unary("abs", DType::f32, {-1.5, 2}, {1.5, 2});
  unary("abs", DType::i32, {-7, 2}, {7, 2});
  unary("sign", DType::f32, {-1.5, 0, 2, kNaN}, {-1, 0, 1, kNaN});
  unary("sign", DType::i32, {-7, 0, 2}, {-1, 0, 1});
  unary("exponential", DType::f32, {0, 1}, {1, 2.718281828}, 1e-6);
  unary("exponential_minus_one", DType::f32, {0, 1e-6}, {0, 1e-6}, 1e-11);
  unary("log", DType::f32, {1, 0}, {0, -kInf});
  unary("log_plus_one", DType::f32, {0, 1e-6}, {0, 1e-6}, 1e-11);
  unary("logistic", DType::f32, {0, 2}, {0.5, 0.8807970779778823}, 1e-6);
  unary("sqrt", DType::f32, {4, -1}, {2, kNaN});
  unary("rsqrt", DType::f32, {4, 0}, {0.5, kInf});
  unary("cbrt", DType::f32, {27, -8}, {3, -2}, 1e-6);
  unary("tanh", DType::f64, {0, 100}, {0, 1});
  unary("sine", DType::f32, {0, 1}, {0, 0.8414709848}, 1e-6);
  unary("cosine", DType::f32, {0, 1}, {1, 0.5403023059}, 1e-6);
  unary("tan", DType::f32, {0, 1}, {0, 1.5574077247}, 1e-6);
  unary("floor", DType::f32, {1.5, -1.5}, {1, -2});
  unary("ceil", DType::f32, {1.5, -1.5}, {2, -1});
  unary("round_nearest_even", DType::f32, {0.5, 1.5, 2.5}, {0, 2, 2});
  unary("round_nearest_afz", DType::f32, {0.5, 1.5, -2.5}, {1, 2, -3});
}

TEST(PlainOps, Erf) {
  const std::string m = "tensor<2xf32>";
  expectBoth("(%x: tensor<2xf32>) -> tensor<2xf32>", "%0 = chlo.erf %x : tensor<2xf32> -> tensor<2xf32>",
             "%0 = \"chlo.erf\"(%x) : (tensor<2xf32>) -> tensor<2xf32>", {make({DType::f32, {2}}, {0, 1})},
             {DType::f32, {2}}, {0, 0.8427007929}, 1e-6);
}

void compare(const std::string& direction, const std::string& kind, DType t, const std::vector<double>& x,
             const std::vector<double>& y, const std::vector<double>& expected) {
  const ArrayType type{t, {static_cast<int64_t>(x.size())}}, result{DType::pred, type.shape};
  const std::string m = mlirType(type), r = mlirType(result);
  expectBoth(fmt::format("(%x: {0}, %y: {0}) -> {1}", m, r),
             fmt::format("%0 = stablehlo.compare {}, %x, %y, {} : ({}, {}) -> {}", direction, kind, m, m, r),
             fmt::format("%0 = \"stablehlo.compare\"(%x, %y) <{{compare_type = #stablehlo<comparison_type {}>, "
                         "comparison_direction = #stablehlo<comparison_direction {}>}}> : ({}, {}) -> {}",
                         kind, direction, m, m, r),
             {make(type, x), make(type, y)}, result, expected);
}

TEST(PlainOps, Compare) {
  compare("EQ", "FLOAT", DType::f32, {1, kNaN, 0}, {1, kNaN, -0.0}, {1, 0, 1});
  compare("NE", "FLOAT", DType::f32, {1, kNaN}, {1, 1}, {0, 1});
  compare("LT", "FLOAT", DType::bf16, {1, 2}, {2, 1}, {1, 0});
  compare("GE", "FLOAT", DType::f32, {2, kNaN}, {2, 1}, {1, 0});
  compare("LT", "UNSIGNED", DType::u8, {200, 1}, {100, 2}, {0, 1});
  compare("LT", "SIGNED", DType::i8, {-56, 1}, {100, 2}, {1, 1});
  compare("GT", "SIGNED", DType::i32, {3, 1}, {2, 2}, {1, 0});
  compare("LE", "UNSIGNED", DType::pred, {0, 1}, {1, 0}, {1, 0});
  compare("LT", "TOTALORDER", DType::f32, {-0.0, 1, -2, kInf}, {0.0, kNaN, -1, 1}, {1, 1, 1, 0});
}

TEST(PlainOps, Convert) {
  const auto convert = [](DType from, const std::vector<double>& x, DType to, const std::vector<double>& expected) {
    const ArrayType a{from, {static_cast<int64_t>(x.size())}}, b{to, a.shape};
    const std::string m = mlirType(a), r = mlirType(b);
    expectBoth(fmt::format("(%x: {}) -> {}", m, r), fmt::format("%0 = stablehlo.convert %x : ({}) -> {}", m, r),
               fmt::format("%0 = \"stablehlo.convert\"(%x) : ({}) -> {}", m, r), {make(a, x)}, b, expected);
  };
  convert(DType::f32, {1.7, -1.7, 3e9, kNaN}, DType::i32, {1, -1, INT32_MAX, 0});
  convert(DType::f32, {0.1, 2, kNaN, 0}, DType::pred, {1, 1, 1, 0});
  convert(DType::i32, {300, -1}, DType::u8, {44, 255});
  convert(DType::u4, {15, 1}, DType::i32, {15, 1});
  convert(DType::i4, {-8, 7}, DType::f32, {-8, 7});
  convert(DType::f32, {1.00390625}, DType::bf16, {1});
  convert(DType::pred, {0, 1}, DType::i32, {0, 1});
}

TEST(PlainOps, BitcastConvert) {
  expectBoth("(%x: tensor<2xf32>) -> tensor<2x4xui8>",
             "%0 = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2x4xui8>",
             "%0 = \"stablehlo.bitcast_convert\"(%x) : (tensor<2xf32>) -> tensor<2x4xui8>",
             {make({DType::f32, {2}}, {1, -2})}, {DType::u8, {2, 4}}, {0, 0, 128, 63, 0, 0, 0, 192});
  expectBoth("(%x: tensor<1x2xi4>) -> tensor<1xui8>",
             "%0 = stablehlo.bitcast_convert %x : (tensor<1x2xi4>) -> tensor<1xui8>",
             "%0 = \"stablehlo.bitcast_convert\"(%x) : (tensor<1x2xi4>) -> tensor<1xui8>",
             {make({DType::i4, {1, 2}}, {-1, 3})}, {DType::u8, {1}}, {63});
  expectBoth("(%x: tensor<1xui8>) -> tensor<1x2xi4>",
             "%0 = stablehlo.bitcast_convert %x : (tensor<1xui8>) -> tensor<1x2xi4>",
             "%0 = \"stablehlo.bitcast_convert\"(%x) : (tensor<1xui8>) -> tensor<1x2xi4>",
             {make({DType::u8, {1}}, {63})}, {DType::i4, {1, 2}}, {-1, 3});
}

TEST(PlainOps, SelectAndClamp) {
  const Array a = make({DType::f32, {3}}, {1, 2, 3}), b = make({DType::f32, {3}}, {4, 5, 6});
  expectBoth("(%c: tensor<3xi1>, %a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32>",
             "%0 = stablehlo.select %c, %a, %b : tensor<3xi1>, tensor<3xf32>",
             "%0 = \"stablehlo.select\"(%c, %a, %b) : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>",
             {make({DType::pred, {3}}, {1, 0, 1}), a, b}, {DType::f32, {3}}, {1, 5, 3});
  expectBoth("(%c: tensor<i1>, %a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32>",
             "%0 = stablehlo.select %c, %a, %b : tensor<i1>, tensor<3xf32>",
             "%0 = \"stablehlo.select\"(%c, %a, %b) : (tensor<i1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>",
             {make({DType::pred, {}}, {0}), a, b}, {DType::f32, {3}}, {4, 5, 6});
  expectBoth("(%l: tensor<f32>, %a: tensor<3xf32>, %h: tensor<3xf32>) -> tensor<3xf32>",
             "%0 = stablehlo.clamp %l, %a, %h : (tensor<f32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>",
             "%0 = \"stablehlo.clamp\"(%l, %a, %h) : (tensor<f32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>",
             {make({DType::f32, {}}, {2}), a, make({DType::f32, {3}}, {9, 9, 2.5})}, {DType::f32, {3}}, {2, 2, 2.5});
}

TEST(PlainOps, IsFinite) {
  expectBoth("(%x: tensor<4xf32>) -> tensor<4xi1>", "%0 = stablehlo.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>",
             "%0 = \"stablehlo.is_finite\"(%x) : (tensor<4xf32>) -> tensor<4xi1>",
             {make({DType::f32, {4}}, {1, kInf, kNaN, -kInf})}, {DType::pred, {4}}, {1, 0, 0, 0});
}

TEST(PlainOps, ReducePrecision) {
  expectBoth("(%x: tensor<3xf32>) -> tensor<3xf32>",
             "%0 = stablehlo.reduce_precision %x, format = e5m2 : tensor<3xf32>",
             "%0 = \"stablehlo.reduce_precision\"(%x) <{exponent_bits = 5 : i32, mantissa_bits = 2 : i32}> : "
             "(tensor<3xf32>) -> tensor<3xf32>",
             {make({DType::f32, {3}}, {1.1, 1e6, 1.4})}, {DType::f32, {3}}, {1, kInf, 1.5});
}

TEST(PlainOps, OptimizationBarrierPassesEverything) {
  expectBoth("(%x: tensor<2xf32>, %y: tensor<i32>) -> tensor<2xf32>",
             "%0, %1 = stablehlo.optimization_barrier %x, %y : tensor<2xf32>, tensor<i32>",
             "%0, %1 = \"stablehlo.optimization_barrier\"(%x, %y) : (tensor<2xf32>, tensor<i32>) -> (tensor<2xf32>, "
             "tensor<i32>)",
             {make({DType::f32, {2}}, {1, 2}), make({DType::i32, {}}, {3})}, {DType::f32, {2}}, {1, 2});
}

TEST(PlainOps, ArgumentsAreNeverChanged) {
  const Array x = make({DType::f32, {2}}, {1, 2});
  const auto results = runText(moduleOf("(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)",
                                        "%0 = stablehlo.negate %x : tensor<2xf32>\n"
                                        "%1 = stablehlo.negate %0 : tensor<2xf32>\n"
                                        "return %0, %1 : tensor<2xf32>, tensor<2xf32>"),
                               {x});
  ASSERT_TRUE(results) << results.error().str();
  EXPECT_EQ(numbers(x), (std::vector<double>{1, 2}));
  EXPECT_EQ(numbers((*results)[0]), (std::vector<double>{-1, -2}));
  EXPECT_EQ(numbers((*results)[1]), (std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace smalti::driver
