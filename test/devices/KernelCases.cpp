// The kernels of several devices of the library, whose twins are jax.lax's collectives.
#include "Cases.h"
#include "smalti/kernels/collective_matmul.h"
#include "smalti/kernels/collectives.h"
#include "smalti/kernels/moe.h"
#include "smalti/kernels/ring_attention.h"

namespace smalti::devices::test {

void kernelCases(Cases& cases) {
  const Mesh line({{"x", 8}}), grid({{"x", 2}, {"y", 4}}), pair({{"x", 2}});
  const P x("x"), y("y"), whole;
  const auto add = [&](std::string name, const DeviceFunction& f, const Mesh& mesh, const P& in, const P& out,
                       Shape shape, DType dtype = f32) {
    cases.add(std::move(name), f, mesh, in, out, {numbers(std::move(shape), dtype)});
  };
  add("right_permute", [](const Array& v) { return kernels::right_permute(v, "x"); }, line, x, x, {64, 128});
  add(
      "right_permute_y", [](const Array& v) { return kernels::right_permute(v, "y"); }, grid, P("x", "y"), P("x", "y"),
      {16, 512}, i32);
  for (const auto& [name, path] : {std::pair{"direct", kernels::GatherPath::direct},
                                   {"ring", kernels::GatherPath::ring},
                                   {"bidirectional", kernels::GatherPath::bidirectional}}) {
    const auto gather = [path](const Array& v) { return kernels::all_gather_rows(v, "x", path); };
    add(std::string("all_gather_kernel_") + name, gather, line, x, whole, {128, 128});
    add(std::string("all_gather_pair_") + name, gather, pair, x, whole, {32, 256}, i32);
  }
  add("reduce_scatter_kernel", [](const Array& v) { return kernels::reduce_scatter_rows(v, "x"); }, line, x, x,
      {512, 128});
  add(
      "reduce_scatter_pair", [](const Array& v) { return kernels::reduce_scatter_rows(v, "x"); }, pair, x, x, {32, 128},
      i32);
  add("all_reduce_kernel", [](const Array& v) { return kernels::all_reduce_rows(v, "x"); }, line, x, whole, {512, 128});
  add("all_reduce_kernel_y", [](const Array& v) { return kernels::all_reduce_rows(v, "y"); }, grid, P("x", "y"), x,
      {64, 512});
  add("all_to_all_kernel", [](const Array& v) { return kernels::all_to_all_parts(v, "x"); }, line, x, x, {64, 8, 128});

  const auto scaled = [](Shape shape) { return numbers(std::move(shape)) / 101.0f - 0.5f; };
  const P split(std::nullopt, "x");
  cases.add("all_gather_matmul", [](const Array& v, const Array& w) { return kernels::all_gather_matmul(v, w, "x"); },
            line, {x, split}, split, {scaled({64, 256}), scaled({256, 1024})});
  cases.add("all_gather_matmul_pair",
            [](const Array& v, const Array& w) { return kernels::all_gather_matmul(v, w, "x"); }, pair, {x, split},
            split, {scaled({32, 128}), scaled({128, 256})});
  cases.add("matmul_reduce_scatter",
            [](const Array& v, const Array& w) { return kernels::matmul_reduce_scatter(v, w, "x"); }, line, {split, x},
            x, {scaled({64, 1024}), scaled({1024, 128})});
  for (const bool causal : {false, true})
    cases.add(causal ? "ring_attention_causal" : "ring_attention",
              [causal](const Array& q, const Array& k, const Array& v) {
                return kernels::ring_attention(q, k, v, "x", {.causal = causal});
              },
              line, split, split, {scaled({2, 128, 64}), scaled({2, 128, 64}) * 3.0f, scaled({2, 128, 64})});
  cases.add("moe",
            [](const Array& v, const Array& device) {
              const auto routing = kernels::moe_route(device, "x");
              const Array here = kernels::moe_dispatch(v, routing, "x");
              const Array done = here * astype(axis_index("x") + 2, f32);  // the expert of this device
              return std::tuple{sum(here, {.axes = {2, 3}}), kernels::moe_combine(done, routing, "x"),
                                routing.received};
            },
            line, x, x, {numbers({48, 8, 128}), rem(numbers({48}, i32), 8)});
}

}  // namespace smalti::devices::test
