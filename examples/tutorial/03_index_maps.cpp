// 3. Index maps choose blocks.
//
// An index map gets the grid's indices and returns which block to take, counted in blocks. The kernel below only
// copies; the map of the input mirrors the order of the blocks.
#include <iostream>

#include <smalti/smalti.h>

namespace pl = smalti;
using pl::_;

int main() {
  const int64_t blocks = 4;
  const auto mirror =
      pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
                      {.out_shape = pl::ShapeDtype{{32, 128}, pl::f32},
                       .grid = {blocks},
                       .in_specs = {pl::BlockSpec{{8, 128}, [=](auto i) { return std::tuple{blocks - 1 - i, 0}; }}},
                       .out_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i, 0}; }}}});
  const pl::Array x = pl::broadcasted_iota(pl::f32, {32, 128}, 0);
  const pl::Array y = mirror(x);

  std::cout << "First row of each block:\n  program  x  mirrored\n";
  for (int64_t i = 0; i < blocks; ++i)
    std::cout << "        " << i << "  " << (i < 2 ? " " : "") << x.as<float>()[i * 8 * 128] << "  "
              << y.as<float>()[i * 8 * 128] << "\n";
}

/* Output:
First row of each block:
  program  x  mirrored
        0   0  24
        1   8  16
        2  16  8
        3  24  0
*/
