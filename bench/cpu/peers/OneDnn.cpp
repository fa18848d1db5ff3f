// oneDNN: products, rows, and element-wise functions.
#include <cmath>

#include <dnnl.h>
#include <dnnl.hpp>

#include "peers/Operands.h"

namespace {

using namespace smalti::bench;
using dnnl::memory;

const dnnl::engine& engine() {
  static const dnnl::engine made(dnnl::engine::kind::cpu, 0);
  return made;
}
dnnl::stream& stream() {
  static dnnl::stream made(engine());
  return made;
}

memory::desc matrix(int64_t rows, int64_t columns, memory::data_type type) {
  return {{rows, columns}, type, memory::format_tag::ab};
}

using Arguments = std::unordered_map<int, memory>;

void run(const dnnl::primitive& primitive, const Arguments& arguments) {
  primitive.execute(stream(), arguments);
  stream().wait();
}

Work sgemm(const Spec& s, float beta) {
  const Product<float, float> p(s);
  return p.work(
      [p, beta] { dnnl_sgemm('N', 'N', p.m, p.n, p.k, 1, p.a.get(), p.k, p.b.get(), p.n, beta, p.c.get(), p.n); });
}

template <class T, class Sum>
Work primitiveMatmul(const Spec& s, memory::data_type in, memory::data_type out) {
  const Product<T, Sum> p(s);
  const auto a = matrix(p.m, p.k, in), b = matrix(p.k, p.n, in), c = matrix(p.m, p.n, out);
  const dnnl::matmul primitive({dnnl::matmul::desc(a, b, c), engine()});
  const Arguments arguments{{DNNL_ARG_SRC, memory(a, engine(), p.a.get())},
                            {DNNL_ARG_WEIGHTS, memory(b, engine(), p.b.get())},
                            {DNNL_ARG_DST, memory(c, engine(), p.c.get())}};
  return p.work([p, primitive, arguments] { run(primitive, arguments); });
}

Work matmul(const Spec& s) {
  const std::string dtype = s.text("dtype", "f32");
  if (dtype == "bf16") return primitiveMatmul<uint16_t, float>(s, memory::data_type::bf16, memory::data_type::f32);
  if (dtype == "int8") return primitiveMatmul<int8_t, int32_t>(s, memory::data_type::s8, memory::data_type::s32);
  return sgemm(s, 0);
}

Work blocks(const Spec& s) {
  const Product<float, float> p(s);
  const int64_t n = p.n, b = s["block"];
  return p.work(overBlocks(p, b, [n, b](const float* x, const float* y, float* z, bool add) {
    dnnl_sgemm('N', 'N', b, b, b, 1, x, n, y, n, add, z, n);
  }));
}

/// A function of rows: from x to y, with more arguments behind `more`.
struct OfRows {
  explicit OfRows(const Spec& s)
      : rows(s["rows"]),
        columns(s["columns"]),
        x(filled<float>(rows * columns, 1)),
        y(allocate<float>(rows * columns)),
        desc(matrix(rows, columns, memory::data_type::f32)) {}
  Work work(const dnnl::primitive& primitive, Arguments more = {}) const {
    more[DNNL_ARG_SRC] = memory(desc, engine(), x.get());
    more[DNNL_ARG_DST] = memory(desc, engine(), y.get());
    return {[=, x = x, y = y] { run(primitive, more); },
            [y = y, count = rows * columns] {
              return probes(count, [&](int64_t i) { return static_cast<double>(y[i]); });
            }};
  }
  int64_t rows, columns;
  std::shared_ptr<float[]> x, y;
  memory::desc desc;
};

Work softmax(const Spec& s) {
  const OfRows r(s);
  const dnnl::softmax_forward::desc desc(dnnl::prop_kind::forward_inference, r.desc, 1);
  return r.work(dnnl::softmax_forward({desc, engine()}));
}

Work layerNorm(const Spec& s) {
  const OfRows r(s);
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const dnnl::layer_normalization_forward::desc desc(dnnl::prop_kind::forward_inference, r.desc, 1e-5f, flags);
  const memory::desc weight({r.columns}, memory::data_type::f32, memory::format_tag::a);
  auto scale = filled<float>(r.columns, 2), shift = filled<float>(r.columns, 3);
  Work work = r.work(dnnl::layer_normalization_forward({desc, engine()}),
                     {{DNNL_ARG_SCALE, memory(weight, engine(), scale.get())},
                      {DNNL_ARG_SHIFT, memory(weight, engine(), shift.get())}});
  work.probe = [scale, shift, probe = work.probe] { return probe(); };  // keeps them alive
  return work;
}

template <dnnl::algorithm Function>
Work elementwise(const Spec& s) {
  const OfRows r(s);
  const float alpha = Function == dnnl::algorithm::eltwise_swish ? 1.f : 0.f;
  const dnnl::eltwise_forward::desc desc(dnnl::prop_kind::forward_inference, Function, r.desc, alpha, 0.f);
  return r.work(dnnl::eltwise_forward({desc, engine()}));
}

}  // namespace

int main() {
  using dnnl::algorithm;
  return Actor({{"matmul", matmul},
                {"block", [](const Spec& s) { return sgemm(s, 1); }},
                {"blocks", blocks},
                {"softmax", softmax},
                {"layer_norm", layerNorm},
                {"gelu", elementwise<algorithm::eltwise_gelu_tanh>},
                {"silu", elementwise<algorithm::eltwise_swish>},
                {"tanh", elementwise<algorithm::eltwise_tanh>},
                {"exp", elementwise<algorithm::eltwise_exp>}})
      .serve();
}
