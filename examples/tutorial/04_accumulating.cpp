// 4. Programs run in order, and an output block stays while the same block is asked for.
//
// All programs of this grid have the same output block, so it stays in VMEM and collects the sum of all input blocks.
// It starts undefined: the first program clears it.
#include <iostream>

#include <smalti/smalti.h>

namespace pl = smalti;
using pl::_;

int main() {
  const auto column_sums = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        pl::when(pl::program_id(0) == 0, [&] { o[_] = pl::zeros_like(o); });
        o[_] += pl::sum(x[_], {.axes = {0}, .keepdims = true});
      },
      {.out_shape = pl::ShapeDtype{{1, 128}, pl::f32},
       .grid = {4},
       .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i, 0}; }}},
       .out_specs = {pl::BlockSpec{{1, 128}, [](auto) { return std::tuple{0, 0}; }}}});
  const pl::Array x = pl::broadcasted_iota(pl::f32, {32, 128}, 0);
  const pl::Array sums = column_sums(x);

  std::cout << "0 + 1 + ... + 31 = " << sums.as<float>()[0] << " in column 0, " << sums.as<float>()[127]
            << " in column 127\n";
}

/* Output:
0 + 1 + ... + 31 = 496 in column 0, 496 in column 127
*/
