// 7. Scalar prefetch: data that decides which blocks are fetched.
//
// The first `num_scalar_prefetch` operands are in SMEM before the grid starts. The kernel gets their Refs first, index
// maps get them last. Here a table of block numbers gathers rows.
#include <iostream>

#include <smalti/smalti.h>

namespace pl = smalti;
using pl::_;

int main() {
  const auto gather = pl::pallas_call(
      [](pl::Ref table, pl::Ref x, pl::Ref o) { o[_] = x[_]; },
      {.out_shape = pl::ShapeDtype{{32, 128}, pl::f32},
       .grid_spec = pl::GridSpec{
           .num_scalar_prefetch = 1,
           .grid = {4},
           .in_specs = {pl::BlockSpec{{8, 128}, [](auto i, auto table) { return std::tuple{table[i], 0}; }}},
           .out_specs = {pl::BlockSpec{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }}}}});
  const pl::Array table = pl::array(std::vector<int32_t>{5, 0, 5, 2});
  const pl::Array blocks = pl::floor_divide(pl::broadcasted_iota(pl::i32, {64, 128}, 0), 8);
  const pl::Array y = gather(table, pl::astype(blocks, pl::f32));

  for (int64_t i = 0; i < 4; ++i) std::cout << "program " << i << " got block " << y.as<float>()[i * 8 * 128] << "\n";
}

/* Output:
program 0 got block 5
program 1 got block 0
program 2 got block 5
program 3 got block 2
*/
