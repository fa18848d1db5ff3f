// The kernels of several devices of the library, whose twins are jax.lax's collectives.
#include "Cases.h"
#include "smalti/kernels/collectives.h"

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
}

}  // namespace smalti::devices::test
