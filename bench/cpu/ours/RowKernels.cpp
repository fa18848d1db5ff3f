// Softmax, norms and element-wise functions of [rows, columns].
#include "ours/Ours.h"
#include "smalti/kernels/norm.h"
#include "smalti/kernels/softmax.h"
#include "smalti/kernels/stream.h"

namespace smalti::bench {
namespace {

Shape shapeOf(const Spec& s) { return {s["rows"], s["columns"]}; }

Work softmax(const Spec& s) {
  const Array x = operand(shapeOf(s), f32, 1);
  const PallasCall call = kernels::softmax_call(x.type(), {.block_rows = s["br"]});
  return work([=] { return Array(call(x)); });
}

Work rmsNorm(const Spec& s) {
  const Array x = operand(shapeOf(s), f32, 1), scale = operand({1, s["columns"]}, f32, 2);
  kernels::NormOptions options;
  options.block_rows = s["br"];
  const PallasCall call = kernels::rms_norm_call(x.type(), options);
  return work([=] { return Array(call(x, scale)); });
}

Work layerNorm(const Spec& s) {
  const Array x = operand(shapeOf(s), f32, 1);
  const Array scale = operand({1, s["columns"]}, f32, 2), shift = operand({1, s["columns"]}, f32, 3);
  kernels::NormOptions options;
  options.block_rows = s["br"];
  const PallasCall call = kernels::layer_norm_call(x.type(), options);
  return work([=] { return Array(call(x, scale, shift)); });
}

Call rowCall(const Spec& s, int inputs) {
  const int64_t rows = s["rows"], block = std::min(rows, s.at("br", 8));
  const BlockSpec part{{block, s["columns"]}, [](auto i) { return std::tuple{i, 0}; }};
  return {.out_shape = ShapeDtype{shapeOf(s), f32},
          .grid = {cdiv(rows, block)},
          .in_specs = std::vector<BlockSpec>(static_cast<size_t>(inputs), part),
          .out_specs = {part},
          .compiler_params = {.dimension_semantics = {parallel}}};
}

Maker elementwise(std::function<Array(const Array&)> function) {
  return [=](const Spec& s) {
    const Array x = operand(shapeOf(s), f32, 1);
    const PallasCall call = pallas_call([=](Ref x, Ref o) { o[_] = function(x[_]); }, rowCall(s, 1));
    return work([=] { return Array(call(x)); });
  };
}

/// Five ops of two arrays: eight passes over memory when each is run by itself, three when they are one.
Work chain(const Spec& s) {
  const Array x = operand(shapeOf(s), f32, 1), y = operand(shapeOf(s), f32, 2);
  const PallasCall call =
      pallas_call([](Ref x, Ref y, Ref o) { o[_] = maximum(x[_] * y[_] + x[_], 0) * 0.5 - y[_]; }, rowCall(s, 2));
  return work([=] { return Array(call(x, y)); });
}

/// Blocks that the kernel copies in and out itself, two in flight each way.
Work streamed(const Spec& s) {
  const Array x = operand(shapeOf(s), f32, 1);
  const PallasCall call =
      kernels::stream_call(x.type(), [](const Array& x) { return x * 2 + 1; }, {.block_rows = s["br"]});
  return work([=] { return Array(call(x)); });
}

/// Square blocks of two arrays, the last of which may be partial in both directions.
Work squares(const Spec& s) {
  const DType dtype = dtypeOf(s);
  const Array x = operand(shapeOf(s), dtype, 1), y = operand(shapeOf(s), dtype, 2);
  const int64_t block = s["block"];
  const BlockSpec part{{block, block}, [](auto i, auto j) { return std::tuple{i, j}; }};
  const PallasCall call = pallas_call([](Ref x, Ref y, Ref o) { o[_] = x[_] + y[_]; },
                                      {.out_shape = ShapeDtype{shapeOf(s), dtype},
                                       .grid = {cdiv(s["rows"], block), cdiv(s["columns"], block)},
                                       .in_specs = {part, part},
                                       .out_specs = {part},
                                       .compiler_params = {.dimension_semantics = {parallel, parallel}}});
  return work([=] { return Array(call(x, y)); });
}

}  // namespace

std::map<std::string, Maker> rowKernels() {
  return {{"softmax", softmax},
          {"rms_norm", rmsNorm},
          {"layer_norm", layerNorm},
          {"gelu", elementwise([](const Array& x) { return gelu(x); })},
          {"silu", elementwise([](const Array& x) { return x * logistic(x); })},
          {"tanh", elementwise([](const Array& x) { return tanh(x); })},
          {"exp", elementwise([](const Array& x) { return exp(x); })},
          {"chain", chain},
          {"squares", squares},
          {"streamed", streamed}};
}

}  // namespace smalti::bench
