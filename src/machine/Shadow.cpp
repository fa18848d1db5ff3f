#include "machine/Shadow.h"

#include <algorithm>

#include "smalti/array.h"

namespace smalti::machine {

void bitcastMask(const uint8_t* in, std::span<const int64_t> inShape, int inBits, uint8_t* out, int outBits) {
  const int64_t n = num_elements(inShape);
  if (inBits == outBits || inShape.size() < 2) {
    std::copy_n(in, n, out);
    return;
  }
  const int64_t columns = inShape.back(), rows = columns == 0 ? 0 : n / columns;
  if (inBits > outBits) {
    const int64_t k = inBits / outBits;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < k; ++j) std::copy_n(in + r * columns, columns, out + (r * k + j) * columns);
    return;
  }
  const int64_t k = outBits / inBits;
  for (int64_t r = 0; r < rows / k; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      uint8_t defined = 1;
      for (int64_t j = 0; j < k; ++j) defined &= in[(r * k + j) * columns + c];
      out[r * columns + c] = defined;
    }
}

}  // namespace smalti::machine
