// 6. Arrays that the blocks do not divide.
//
// Twenty rows in blocks of eight: the last block extends past the edge. What is read there is undefined and what is
// written there is dropped, so element-wise kernels need no care; sums do. `where` with the row's number leaves the
// missing rows out.
#include <iostream>

#include <smalti/smalti.h>

namespace pl = smalti;
using pl::_;

int main() {
  const int64_t rows = 20, block = 8;
  const auto mean = pl::pallas_call(
      [=](pl::Ref x, pl::Ref o) {
        pl::when(pl::program_id(0) == 0, [&] { o[_] = pl::zeros_like(o); });
        const pl::Array row = pl::program_id(0) * block + pl::broadcasted_iota(pl::i32, {block, 128}, 0);
        const pl::Array inside = pl::where(row < rows, x[_], 0);
        o[_] += pl::sum(inside, {.axes = {0}, .keepdims = true}) / float(rows);
      },
      {.out_shape = pl::ShapeDtype{{1, 128}, pl::f32},
       .grid = {pl::cdiv(rows, block)},
       .in_specs = {pl::BlockSpec{{block, 128}, [](auto i) { return std::tuple{i, 0}; }}},
       .out_specs = {pl::BlockSpec{{1, 128}, [](auto) { return std::tuple{0, 0}; }}}});
  const pl::Array m = mean(pl::broadcasted_iota(pl::f32, {rows, 128}, 0));

  for (int64_t i = 0; i < pl::cdiv(rows, block); ++i) {
    std::cout << "program " << i << ": ";
    for (int64_t r = i * block; r < (i + 1) * block; ++r) std::cout << (r < rows ? " x" : " .");
    std::cout << "\n";
  }
  std::cout << "mean of 0 ... 19: " << m.as<float>()[0] << "\n";
}

/* Output:
program 0:  x x x x x x x x
program 1:  x x x x x x x x
program 2:  x x x x . . . .
mean of 0 ... 19: 9.5
*/
