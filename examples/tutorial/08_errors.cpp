// 8. What is wrong is said in words.
//
// Kernels are written with operators, so what is wrong with one is thrown, as pl::Error: a code with a page
// (`smalti explain SM6112`), the line, what is needed and what is there. `attempt` catches it for those who prefer
// results to exceptions.
#include <iostream>

#include <smalti/smalti.h>

namespace pl = smalti;
using pl::_;

int main() {
  const auto halve = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] / 2; },
                                     {.out_shape = pl::ShapeDtype{{8, 128}, pl::i32}, .name = "halve"});
  try {
    halve(pl::ones({8, 128}, pl::i32));
  } catch (const pl::Error& error) {
    std::cout << error.what() << "\n";
  }

  const pl::BlockSpec rows{{8, 128}, [](auto i) { return i; }};
  const auto copy = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
      {.out_shape = pl::ShapeDtype{{64, 128}, pl::f32}, .grid = {8}, .in_specs = {rows}, .out_specs = {rows}});
  const auto result = pl::attempt([&] { return copy(pl::ones({64, 128})); });
  if (!result) std::cout << result.error().str();
}

/* Output:
error[SM6112]: a value of the wrong dtype is stored into a Ref
  --> examples/tutorial/08_errors.cpp:14:79
   14 |   const auto halve = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] / 2; },
      |                                                                               ^
   in kernel 'halve'
  need: i32
  have: f32
  help: convert it: astype(value, i32)

error[SM6213]: Index map function for input 0 must return 2 values to match its block shape
  --> examples/tutorial/08_errors.cpp:22:62
   22 |   const pl::BlockSpec rows{{8, 128}, [](auto i) { return i; }};
      |                                                              ^
   in the index map of input 0 in kernel 'kernel'
  need: 2 values
  have: 1 value
  help: return one block index per axis of the array, squeezed axes too
*/
