#include <numeric>

#include "RunText.h"

namespace smalti::driver {
namespace {

using namespace testing;

Array count(const Shape& shape, DType t = DType::f32) {
  std::vector<double> values(num_elements(shape));
  std::iota(values.begin(), values.end(), 0);
  return make({t, shape}, values);
}

TEST(PlainOps, Constants) {
  const auto constant = [](const std::string& literal, const std::string& type, const ArrayType& want,
                           const std::vector<double>& expected) {
    expectBoth("() -> " + type, "%0 = stablehlo.constant dense<" + literal + "> : " + type,
               "%0 = \"stablehlo.constant\"() <{value = dense<" + literal + "> : " + type + "}> : () -> " + type, {},
               want, expected);
  };
  constant("1.5", "tensor<2x2xf32>", {DType::f32, {2, 2}}, {1.5, 1.5, 1.5, 1.5});
  constant("[[1, 2], [-3, 4]]", "tensor<2x2xi8>", {DType::i8, {2, 2}}, {1, 2, -3, 4});
  constant("[true, false]", "tensor<2xi1>", {DType::pred, {2}}, {1, 0});
  constant("[255, 0]", "tensor<2xui8>", {DType::u8, {2}}, {255, 0});
  constant("[-8, 7]", "tensor<2xi4>", {DType::i4, {2}}, {-8, 7});
  constant("[15, 0]", "tensor<2xui4>", {DType::u4, {2}}, {15, 0});
  constant("0x7F800000", "tensor<f32>", {DType::f32, {}}, {HUGE_VAL});
  constant("[1.500000e+00, 0xFF80]", "tensor<2xbf16>", {DType::bf16, {2}}, {1.5, -HUGE_VAL});
  constant("[1.500000e+00, -2.000000e+00]", "tensor<2xf8E4M3FN>", {DType::f8e4m3fn, {2}}, {1.5, -2});
  constant("[1.500000e+00, 0x3C]", "tensor<2xf8E5M2>", {DType::f8e5m2, {2}}, {1.5, 1});
  constant("[1.500000e+00, 6.0]", "tensor<2xf4E2M1FN>", {DType::f4e2m1fn, {2}}, {1.5, 6});
  constant("\"0x0000803F00000040\"", "tensor<2xf32>", {DType::f32, {2}}, {1, 2});
  constant("\"0x05\"", "tensor<3xi1>", {DType::pred, {3}}, {1, 0, 1});
  constant("\"0x010001\"", "tensor<3xi1>", {DType::pred, {3}}, {1, 0, 1});
  constant("\"0x0F08\"", "tensor<2xi4>", {DType::i4, {2}}, {-1, -8});
  constant("-9223372036854775808", "tensor<i64>", {DType::i64, {}}, {-9223372036854775808.0});
  constant("", "tensor<0x3xf32>", {DType::f32, {0, 3}}, {});
}

TEST(PlainOps, Iota) {
  expectBoth("() -> tensor<2x3xf32>", "%0 = stablehlo.iota dim = 1 : tensor<2x3xf32>",
             "%0 = \"stablehlo.iota\"() <{iota_dimension = 1 : i64}> : () -> tensor<2x3xf32>", {}, {DType::f32, {2, 3}},
             {0, 1, 2, 0, 1, 2});
}

TEST(PlainOps, ReshapeTransposeBroadcast) {
  expectBoth("(%x: tensor<2x3xf32>) -> tensor<6xf32>", "%0 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>",
             "%0 = \"stablehlo.reshape\"(%x) : (tensor<2x3xf32>) -> tensor<6xf32>", {count({2, 3})}, {DType::f32, {6}},
             {0, 1, 2, 3, 4, 5});
  expectBoth("(%x: tensor<2x3xf32>) -> tensor<3x2xf32>",
             "%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
             "%0 = \"stablehlo.transpose\"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> "
             "tensor<3x2xf32>",
             {count({2, 3})}, {DType::f32, {3, 2}}, {0, 3, 1, 4, 2, 5});
  expectBoth("(%x: tensor<2xf32>) -> tensor<2x3xf32>",
             "%0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>",
             "%0 = \"stablehlo.broadcast_in_dim\"(%x) <{broadcast_dimensions = dense<0> : tensor<1xi64>}> : "
             "(tensor<2xf32>) -> tensor<2x3xf32>",
             {count({2})}, {DType::f32, {2, 3}}, {0, 0, 0, 1, 1, 1});
}

TEST(PlainOps, SliceReversePad) {
  expectBoth("(%x: tensor<3x4xi32>) -> tensor<2x2xi32>",
             "%0 = stablehlo.slice %x [1:3, 0:4:2] : (tensor<3x4xi32>) -> tensor<2x2xi32>",
             "%0 = \"stablehlo.slice\"(%x) <{limit_indices = array<i64: 3, 4>, start_indices = array<i64: 1, 0>, "
             "strides = array<i64: 1, 2>}> : (tensor<3x4xi32>) -> tensor<2x2xi32>",
             {count({3, 4}, DType::i32)}, {DType::i32, {2, 2}}, {4, 6, 8, 10});
  expectBoth("(%x: tensor<2x3xi32>) -> tensor<2x3xi32>", "%0 = stablehlo.reverse %x, dims = [1] : tensor<2x3xi32>",
             "%0 = \"stablehlo.reverse\"(%x) <{dimensions = array<i64: 1>}> : (tensor<2x3xi32>) -> tensor<2x3xi32>",
             {count({2, 3}, DType::i32)}, {DType::i32, {2, 3}}, {2, 1, 0, 5, 4, 3});
  expectBoth("(%x: tensor<3xi32>, %v: tensor<i32>) -> tensor<6xi32>",
             "%0 = stablehlo.pad %x, %v, low = [-1], high = [2], interior = [1] : (tensor<3xi32>, tensor<i32>) -> "
             "tensor<6xi32>",
             "%0 = \"stablehlo.pad\"(%x, %v) <{edge_padding_high = array<i64: 2>, edge_padding_low = array<i64: -1>, "
             "interior_padding = array<i64: 1>}> : (tensor<3xi32>, tensor<i32>) -> tensor<6xi32>",
             {make({DType::i32, {3}}, {1, 2, 3}), make({DType::i32, {}}, {9})}, {DType::i32, {6}}, {9, 2, 9, 3, 9, 9});
  expectBoth("(%x: tensor<4xi32>, %v: tensor<i32>) -> tensor<2xi32>",
             "%0 = stablehlo.pad %x, %v, low = [-1], high = [-1], interior = [0] : (tensor<4xi32>, tensor<i32>) -> "
             "tensor<2xi32>",
             "%0 = \"stablehlo.pad\"(%x, %v) <{edge_padding_high = array<i64: -1>, edge_padding_low = array<i64: -1>, "
             "interior_padding = array<i64: 0>}> : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>",
             {make({DType::i32, {4}}, {1, 2, 3, 4}), make({DType::i32, {}}, {9})}, {DType::i32, {2}}, {2, 3});
}

TEST(PlainOps, DynamicSlicesAreMovedInside) {
  const Array x = count({5}, DType::i32);
  for (const auto& [start, first] : {std::pair{1, 1}, {4, 3}, {-7, 0}}) {
    expectBoth("(%x: tensor<5xi32>, %i: tensor<i32>) -> tensor<2xi32>",
               "%0 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<5xi32>, tensor<i32>) -> tensor<2xi32>",
               "%0 = \"stablehlo.dynamic_slice\"(%x, %i) <{slice_sizes = array<i64: 2>}> : (tensor<5xi32>, "
               "tensor<i32>) -> tensor<2xi32>",
               {x, make({DType::i32, {}}, {double(start)})}, {DType::i32, {2}}, {double(first), first + 1.0});
  }
  expectBoth("(%x: tensor<5xi32>, %u: tensor<2xi32>, %i: tensor<i32>) -> tensor<5xi32>",
             "%0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<5xi32>, tensor<2xi32>, tensor<i32>) -> "
             "tensor<5xi32>",
             "%0 = \"stablehlo.dynamic_update_slice\"(%x, %u, %i) : (tensor<5xi32>, tensor<2xi32>, tensor<i32>) -> "
             "tensor<5xi32>",
             {x, make({DType::i32, {2}}, {8, 9}), make({DType::i32, {}}, {100})}, {DType::i32, {5}}, {0, 1, 2, 8, 9});
  EXPECT_EQ(numbers(x), (std::vector<double>{0, 1, 2, 3, 4}));
}

TEST(PlainOps, Concatenate) {
  expectBoth("(%x: tensor<2x1xi32>, %y: tensor<2x2xi32>) -> tensor<2x3xi32>",
             "%0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<2x1xi32>, tensor<2x2xi32>) -> tensor<2x3xi32>",
             "%0 = \"stablehlo.concatenate\"(%x, %y) <{dimension = 1 : i64}> : (tensor<2x1xi32>, tensor<2x2xi32>) -> "
             "tensor<2x3xi32>",
             {make({DType::i32, {2, 1}}, {8, 9}), count({2, 2}, DType::i32)}, {DType::i32, {2, 3}}, {8, 0, 1, 9, 2, 3});
}

}  // namespace
}  // namespace smalti::driver
