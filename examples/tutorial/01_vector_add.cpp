// 1. A kernel, and calling it.
//
// A kernel is a function of Refs: windows of the chip's memory. `x[_]` reads one, `o[_] = v` writes one. `pallas_call`
// makes it a function of arrays; `out_shape` says what it gives.
#include <iostream>

#include <smalti/smalti.h>

namespace pl = smalti;
using pl::_;

int main() {
  const auto add = pl::pallas_call([](pl::Ref x, pl::Ref y, pl::Ref o) { o[_] = x[_] + y[_]; },
                                   {.out_shape = pl::ShapeDtype{{8}, pl::i32}});
  const pl::Array x = pl::arange(8), y = pl::full({8}, 10);
  const pl::Array z = add(x, y);

  const auto print = [](const char* name, const pl::Array& a) {
    std::cout << name << ":";
    for (int64_t i = 0; i < a.elements(); ++i) std::cout << " " << a.as<int32_t>()[i];
    std::cout << "\n";
  };
  print("x    ", x);
  print("y    ", y);
  print("x + y", z);
}

/* Output:
x    : 0 1 2 3 4 5 6 7
y    : 10 10 10 10 10 10 10 10
x + y: 10 11 12 13 14 15 16 17
*/
