// 11. Copying by hand.
//
// Operands in ANY stay where they are. The kernel copies what it wants into memory of its own: `run_scoped` allocates,
// `make_async_copy` describes a copy, which runs while the kernel computes until `wait`.
#include <iostream>

#include <smalti/smalti.h>

namespace pl = smalti;
using pl::_;

int main() {
  const auto last_rows = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        pl::run_scoped(
            [&](pl::Ref buffer, pl::Ref done) {
              const auto copy = pl::make_async_copy(x.at(pl::ds(24, 8)), buffer, done);
              copy.start();
              pl::debug_print("the copy runs; 6 * 7 = {}", pl::program_id(0) + 42);
              copy.wait();
              o[_] = buffer[_] * 10;
            },
            pl::vmem({8, 128}, pl::f32), pl::semaphore_type::dma());
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .grid = {1}, .in_specs = {pl::BlockSpec(pl::any_space)}});
  const pl::RunReport report = last_rows.check(pl::broadcasted_iota(pl::f32, {32, 128}, 0));

  for (const std::string& line : report.log) std::cout << "kernel: " << line << "\n";
  std::cout << "rows:";
  for (int64_t r = 0; r < 8; ++r) std::cout << " " << report.results[0].as<float>()[r * 128];
  std::cout << "\n" << report.statistics.dma_bytes << " bytes copied by hand or pipeline\n";
}

/* Output:
kernel: d0: the copy runs; 6 * 7 = 42
rows: 240 250 260 270 280 290 300 310
4096 bytes copied by hand or pipeline
*/
