// 5. A matrix product in blocks, with scratch.
//
// The grid's last axis walks along the contracted dimension. Scratch is memory that lives as long as the grid runs:
// the products are summed there in f32, though inputs and output are bf16.
#include <iostream>

#include <smalti/smalti.h>

namespace pl = smalti;
using pl::_;

pl::PallasCall matmul(int64_t m, int64_t k, int64_t n, int64_t bm, int64_t bk, int64_t bn) {
  const int64_t k_steps = k / bk;
  auto kernel = [=](pl::Ref x, pl::Ref y, pl::Ref z, pl::Ref acc) {
    pl::when(pl::program_id(2) == 0, [&] { acc[_] = pl::zeros_like(acc); });
    acc[_] += pl::dot(x[_], y[_], {.preferred_element_type = pl::f32});
    pl::when(pl::program_id(2) == k_steps - 1, [&] { z[_] = pl::astype(acc[_], z.dtype()); });
  };
  return pl::pallas_call(kernel,
                         {.out_shape = pl::ShapeDtype{{m, n}, pl::bf16},
                          .grid = {m / bm, n / bn, k_steps},
                          .in_specs = {pl::BlockSpec{{bm, bk}, [](auto i, auto, auto k) { return std::tuple{i, k}; }},
                                       pl::BlockSpec{{bk, bn}, [](auto, auto j, auto k) { return std::tuple{k, j}; }}},
                          .out_specs = {pl::BlockSpec{{bm, bn}, [](auto i, auto j, auto) { return std::tuple{i, j}; }}},
                          .scratch_shapes = {pl::vmem({bm, bn}, pl::f32)},
                          .name = "matmul",
                          .compiler_params = {.dimension_semantics = {pl::parallel, pl::parallel, pl::arbitrary}}});
}

int main() {
  const auto product = matmul(256, 512, 384, 128, 128, 128);
  const pl::Array x = pl::ones({256, 512}, pl::bf16), y = pl::full({512, 384}, 0.25f, pl::bf16);
  const pl::Array z = pl::astype(product(x, y).operator pl::Array(), pl::f32);
  std::cout << "512 * 1 * 0.25 = " << z.as<float>()[0] << "\n";

  const pl::CostEstimate cost = pl::estimate_cost(product, x, y);
  std::cout << "counted from the kernel: " << cost.flops / 1000000 << " Mflop, " << cost.bytes_accessed / 1024
            << " KiB in and out\n";
}

/* Output:
512 * 1 * 0.25 = 128
counted from the kernel: 101 Mflop, 832 KiB in and out
*/
