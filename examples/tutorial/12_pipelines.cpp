// 12. A pipeline inside a kernel.
//
// `emit_pipeline` is to a kernel what the grid is to a call: it brings blocks of Refs in ANY to VMEM, runs a body on
// them and takes the results back, all concurrently. Here the array's rows are summed in blocks of eight, with
// three buffers for the input.
#include <iostream>

#include <smalti/smalti.h>

namespace pl = smalti;
using pl::_;

int main() {
  const auto sum_rows = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        o[_] = pl::zeros_like(o);
        pl::emit_pipeline(
            [&](pl::Ref block) { o[_] += pl::sum(block[_], {.axes = {0}, .keepdims = true}); },
            {.grid = {4},
             .in_specs = {pl::BlockSpec{
                 {8, 128}, [](auto i) { return std::tuple{i, 0}; }, {.pipeline_mode = pl::Buffered{3}}}}})(x);
      },
      {.out_shape = pl::ShapeDtype{{1, 128}, pl::f32}, .in_specs = {pl::BlockSpec(pl::any_space)}});
  const pl::RunReport report = sum_rows.check(pl::broadcasted_iota(pl::f32, {32, 128}, 0));

  std::cout << "0 + 1 + ... + 31 = " << report.results[0].as<float>()[0] << ", with " << report.statistics.dma_transfers
            << " copies and " << report.findings.size() << " findings\n";
}

/* Output:
0 + 1 + ... + 31 = 496, with 4 copies and 0 findings
*/
