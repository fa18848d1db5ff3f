// A function of the library and its gradients for a cotangent: the forward pass and the backward kernels.
#include "smalti/kernels/gradients.h"
#include "ours/Ours.h"

namespace smalti::bench {
namespace {

using Arrays = std::vector<Array>;

/// `operands` are f32 and as other actors have them, the cotangent is operand 9. Results are probed one after the
/// other.
Work gradients(std::function<Array(const Arrays&)> f, const Arrays& operands, const Shape& result) {
  const Array cotangent = operand(result, f32, 9);
  const auto both = jit([f](const Arrays& x, const Array& cotangent) {
    const auto [y, back] = vjp(f, x);
    Arrays all = back(cotangent);
    all.insert(all.begin(), y);
    return all;
  });
  auto results = std::make_shared<Arrays>();
  return {[=] {
            results->clear();  // their memory is free for the next
            *results = both(operands, cotangent);
          },
          [=] {
            int64_t total = 0;
            for (const Array& r : *results) total += r.elements();
            return probes(total, [&](int64_t i) -> double {
              auto r = results->begin();
              for (; i >= r->elements(); ++r) i -= r->elements();
              return r->as<float>()[i];
            });
          }};
}

Work matmul(const Spec& s) {
  const int64_t n = s["n"];
  return gradients([](const Arrays& x) { return kernels::matmul_with_gradient(x[0], x[1]); },
                   {operand({n, n}, f32, 1), operand({n, n}, f32, 2)}, {n, n});
}

Work rmsNorm(const Spec& s) {
  const Shape shape{s["rows"], s["columns"]};
  return gradients([](const Arrays& x) { return kernels::rms_norm_with_gradient(x[0], x[1]); },
                   {operand(shape, f32, 1), operand({shape[1]}, f32, 2)}, shape);
}

Work layerNorm(const Spec& s) {
  const Shape shape{s["rows"], s["columns"]};
  return gradients([](const Arrays& x) { return kernels::layer_norm_with_gradient(x[0], x[1], x[2]); },
                   {operand(shape, f32, 1), operand({shape[1]}, f32, 2), operand({shape[1]}, f32, 3)}, shape);
}

Work attention(const Spec& s) {
  const Shape shape{1, s["heads"], s["length"], s["dim"]};
  const bool causal = s["causal"] != 0;
  return gradients(
      [=](const Arrays& x) { return kernels::flash_attention_with_gradient(x[0], x[1], x[2], {.causal = causal}); },
      {operand(shape, f32, 1), operand(shape, f32, 2), operand(shape, f32, 3)}, shape);
}

Work grouped(const Spec& s) {
  const std::vector<int32_t> sizes = s.numbers("sizes");
  int64_t rows = 0;
  for (int32_t size : sizes) rows += size;
  const int64_t k = s["k"], n = s["n"];
  const Array counts = array(sizes);
  return gradients([=](const Arrays& x) { return kernels::grouped_matmul_with_gradient(x[0], x[1], counts); },
                   {operand({rows, k}, f32, 1), operand({static_cast<int64_t>(sizes.size()), k, n}, f32, 2)},
                   {rows, n});
}

}  // namespace

std::map<std::string, Maker> gradients() {
  return {{"matmul_gradients", matmul},
          {"rms_norm_gradients", rmsNorm},
          {"layer_norm_gradients", layerNorm},
          {"attention_gradients", attention},
          {"grouped_gradients", grouped}};
}

}  // namespace smalti::bench
