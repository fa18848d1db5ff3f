// 9. Mistakes that a TPU does not report.
//
// This kernel forgets to clear its accumulator. A TPU computes with whatever the memory held before; `check` runs the
// kernel under observers and tells what it saw.
#include <iostream>

#include <smalti/smalti.h>

namespace pl = smalti;
using pl::_;

int main() {
  const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto running_sum = pl::pallas_call(
      [](pl::Ref x, pl::Ref o, pl::Ref acc) {
        acc[_] += x[_];
        o[_] = acc[_];
      },
      {.out_shape = pl::ShapeDtype{{32, 128}, pl::f32},
       .grid = {4},
       .in_specs = {rows},
       .out_specs = {rows},
       .scratch_shapes = {pl::vmem({8, 128}, pl::f32)},
       .name = "running_sum"});
  const pl::RunReport report = running_sum.check(pl::ones({32, 128}));
  for (const pl::Finding& f : report.findings) std::cout << f.str() << "\n";
  std::cout << report.findings.size() << " findings in " << report.statistics.grid_steps << " grid steps\n";
}

/* Output:
finding[SM4102]: output 0 depends on uninitialised memory
  --> examples/tutorial/09_checking.cpp:16:14
   16 |         acc[_] += x[_];
      |              ^
   in kernel 'running_sum'
  need: all 4096 elements of f32[32,128] written from defined values
  have: 4096 undefined element(s), the first at [0, 0]; undefined elements were read from scratch 0 at examples/tutorial/09_checking.cpp:16:14 in grid step (0), scratch 0 at examples/tutorial/09_checking.cpp:17:21 in grid step (0)
  help: visit every block of the output, and initialise windows and scratch at the first step that uses them, as under pl.when(k == 0)

1 findings in 4 grid steps
*/
