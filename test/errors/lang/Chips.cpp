// What no TPU, or not the one that is named, takes.
#include "WrongPrograms.h"

namespace pl = smalti;
using pl::_;

namespace {

void legalOn(std::string_view chip, const pl::PallasCall& call, const pl::Array& x) {
  pl::unwrap(call.lower(x).legal(chip));
}

}  // namespace

// error[SM6602]: The Pallas TPU lowering currently requires that rank 1 block shapes are the whole array, a multiple of 1024, or a power of 2 that is at least the tiling size
//   --> test/errors/lang/Chips.cpp:36:70
//    36 |   const pl::BlockSpec part{{30}, [](auto i) { return std::tuple{i}; }};
//       |                                                                      ^
//    in kernel 'kernel'
//    in every chip
//    in input 0
//   need: 300, a multiple of 1024, or a power of 2 of at least 128
//   have: block (30) of f32[300]
//   help: choose such a block; the last block may extend past the end of the array
// error[SM6602]: The Pallas TPU lowering currently requires that rank 1 block shapes are the whole array, a multiple of 1024, or a power of 2 that is at least the tiling size
//   --> test/errors/lang/Chips.cpp:36:70
//    36 |   const pl::BlockSpec part{{30}, [](auto i) { return std::tuple{i}; }};
//       |                                                                      ^
//    in kernel 'kernel'
//    in every chip
//    in output 0
//   need: 300, a multiple of 1024, or a power of 2 of at least 128
//   have: block (30) of f32[300]
//   help: choose such a block; the last block may extend past the end of the array
WRONG_PROGRAM(block_of_rank_1_that_is_no_tile) {
  const pl::BlockSpec part{{30}, [](auto i) { return std::tuple{i}; }};
  const auto twice = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) { o[_] = x[_] * 2; },
      {.out_shape = pl::ShapeDtype{{300}, pl::f32}, .grid = {10}, .in_specs = {part}, .out_specs = {part}});
  legalOn({}, twice, pl::ones({300}));
}

// error[SM6605]: Ran out of memory in memory space vmem
//   --> test/errors/lang/Chips.cpp:53:37
//    53 |   const auto twice = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] * 2; },
//       |                                     ^
//    in kernel 'kernel'
//    in chip v5e
//   need: at most 16.00 MiB
//   have: 128.00 MiB: windows and scratch 128.00 MiB, what the compiler adds about 0.00 MiB; most is input 0: 1 × f32[8192,2048], 64.00 MiB (test/errors/lang/Chips.cpp:53:75)
//   help: choose smaller blocks, or set vmem_limit_bytes (the chip has 128 MiB)
WRONG_PROGRAM(windows_beyond_the_memory_of_the_chip) {
  const auto twice = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] * 2; },
                                     {.out_shape = pl::ShapeDtype{{8192, 2048}, pl::f32}});
  legalOn("v5e", twice, pl::ones({8192, 2048}));
}
