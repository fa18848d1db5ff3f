// 2. A grid of programs, each with its block.
//
// `grid = {3, 4}` runs the kernel twelve times. A BlockSpec says what each run sees of an operand: blocks of 8 x 128
// elements, and program (i, j) gets the block in row i and column j. Here each program writes its number.
#include <iostream>

#include <smalti/smalti.h>

namespace pl = smalti;
using pl::_;

int main() {
  auto kernel = [](pl::Ref o) {
    const pl::Array number = pl::program_id(0) * pl::num_programs(1) + pl::program_id(1);
    o[_] = pl::full_like(o, number);
  };
  const pl::BlockSpec block{{8, 128}, [](auto i, auto j) { return std::tuple{i, j}; }};
  const pl::Array o = pl::pallas_call(
      kernel, {.out_shape = pl::ShapeDtype{{24, 512}, pl::i32}, .grid = {3, 4}, .out_specs = {block}})();

  std::cout << "Every fourth row and every 64th column of an array of [24, 512]:\n";
  for (int64_t r = 0; r < 24; r += 4) {
    for (int64_t c = 0; c < 512; c += 64) {
      const int n = o.as<int32_t>()[r * 512 + c];
      std::cout << (c % 128 == 0 ? " |" : "") << (n < 10 ? "  " : " ") << n;
    }
    std::cout << " |\n" << (r % 8 == 4 ? " --------------------------------\n" : "");
  }
}

/* Output:
Every fourth row and every 64th column of an array of [24, 512]:
 |  0  0 |  1  1 |  2  2 |  3  3 |
 |  0  0 |  1  1 |  2  2 |  3  3 |
 --------------------------------
 |  4  4 |  5  5 |  6  6 |  7  7 |
 |  4  4 |  5  5 |  6  6 |  7  7 |
 --------------------------------
 |  8  8 |  9  9 | 10 10 | 11 11 |
 |  8  8 |  9  9 | 10 10 | 11 11 |
 --------------------------------
*/
