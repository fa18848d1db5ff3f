#include "Cases.h"
#include "smalti/kernels/matmul.h"

namespace smalti::kernels::test {
namespace {

struct Matmul {
  std::string name;
  DType dtype;
  int64_t m, k, n;
  MatmulOptions options{};
  bool bias = false;
  std::string activation = "none";
  bool exportable = true;
};

void addMatmul(Cases& cases, Matmul c) {
  MatmulOptions& o = c.options;
  const Array x = cases.random(c.dtype, o.transpose_x ? Shape{c.k, c.m} : Shape{c.m, c.k});
  const Array y = cases.random(c.dtype, o.transpose_y ? Shape{c.n, c.k} : Shape{c.k, c.n});
  std::vector<Array> inputs{x, y};
  std::vector<Operand> operands{x, y};
  if (c.bias) {
    o.bias = cases.random(f32, {c.n});
    inputs.push_back(*o.bias);
    operands.emplace_back(unwrap(o.bias->reshaped({1, c.n})));
  }
  if (c.activation == "relu") o.activation = [](const Array& z) { return maximum(z, 0); };
  if (c.activation == "gelu")
    o.activation = [](const Array& z) { return z * 0.5f * (1 + erf(z * 0.70710678118654752f)); };
  if (c.activation == "scale") o.activation = [](const Array& z) { return astype(z, f32) * 0.01f; };
  cases.add({"matmul_" + c.name,
             "matmul",
             {{"transpose_x", o.transpose_x}, {"transpose_y", o.transpose_y}, {"activation", c.activation}},
             inputs,
             [x, y, o] { return matmul(x, y, o); },
             matmul_call(x.type(), y.type(), o),
             operands,
             c.exportable});
}

}  // namespace

void matmulCases(Cases& cases) {
  addMatmul(cases, {.name = "f32",
                    .dtype = f32,
                    .m = 256,
                    .k = 512,
                    .n = 384,
                    .options = {.block_m = 128, .block_n = 128, .block_k = 256}});
  addMatmul(cases, {.name = "bf16",
                    .dtype = bf16,
                    .m = 256,
                    .k = 512,
                    .n = 256,
                    .options = {.block_m = 128, .block_n = 128, .block_k = 128}});
  addMatmul(cases, {.name = "int8", .dtype = i8, .m = 128, .k = 256, .n = 128, .options = {.block_k = 128}});
  addMatmul(cases, {.name = "int8_dequantised",
                    .dtype = i8,
                    .m = 64,
                    .k = 256,
                    .n = 128,
                    .options = {.out_dtype = f32},
                    .activation = "scale"});
  addMatmul(cases, {.name = "bias_gelu",
                    .dtype = f32,
                    .m = 200,
                    .k = 384,
                    .n = 640,
                    .options = {.block_m = 128},
                    .bias = true,
                    .activation = "gelu"});
  addMatmul(cases, {.name = "bf16_bias_relu",
                    .dtype = bf16,
                    .m = 96,
                    .k = 256,
                    .n = 256,
                    .options = {.out_dtype = f32, .block_k = 128},
                    .bias = true,
                    .activation = "relu"});
  addMatmul(cases, {.name = "remainders",
                    .dtype = f32,
                    .m = 150,
                    .k = 300,
                    .n = 200,
                    .options = {.block_m = 64, .block_n = 128, .block_k = 128}});
  addMatmul(cases, {.name = "remainders_bf16",
                    .dtype = bf16,
                    .m = 100,
                    .k = 200,
                    .n = 150,
                    .options = {.block_m = 64, .block_n = 128, .block_k = 128}});
  addMatmul(cases, {.name = "remainders_int8",
                    .dtype = i8,
                    .m = 70,
                    .k = 150,
                    .n = 140,
                    .options = {.block_m = 32, .block_n = 128, .block_k = 128}});
  addMatmul(cases, {.name = "transpose_y",
                    .dtype = f32,
                    .m = 128,
                    .k = 384,
                    .n = 256,
                    .options = {.transpose_y = true, .block_k = 128}});
  addMatmul(cases, {.name = "transpose_x",
                    .dtype = f32,
                    .m = 128,
                    .k = 256,
                    .n = 128,
                    .options = {.transpose_x = true, .block_k = 128}});
  addMatmul(cases, {.name = "transpose_both",
                    .dtype = bf16,
                    .m = 128,
                    .k = 300,
                    .n = 256,
                    .options = {.transpose_x = true, .transpose_y = true, .block_k = 128}});
  addMatmul(cases, {.name = "one_row", .dtype = f32, .m = 1, .k = 384, .n = 384});
  addMatmul(cases, {.name = "tiny", .dtype = f32, .m = 3, .k = 5, .n = 2});
  addMatmul(cases, {.name = "one", .dtype = f32, .m = 1, .k = 1, .n = 1});
  addMatmul(cases, {.name = "odd_blocks",
                    .dtype = f32,
                    .m = 37,
                    .k = 53,
                    .n = 41,
                    .options = {.block_m = 10, .block_n = 7, .block_k = 11},
                    .exportable = false});
}

}  // namespace smalti::kernels::test
