// Products of small whole numbers: every order of additions gives the same.
#pragma once

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "Native.h"

namespace smalti::cpu::testing {

/// Numbers from -4 to 4, as f32 or bf16; `first` chooses others.
inline Array smallNumbers(const std::string& dtype, const Shape& shape, int64_t first = 0) {
  const auto small = [=](int64_t i) { return static_cast<float>(((i + first) * 7 + (i + first) / 5) % 9 - 4); };
  Array f = f32Array(shape, small);
  if (dtype == "f32") return f;
  Array out = Array::allocate({DType::bf16, shape}).value();
  for (int64_t i = 0; i < out.elements(); ++i) {
    const auto bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(small(i)) >> 16);
    std::memcpy(out.data() + 2 * i, &bits, 2);
  }
  return out;
}

/// left · right + start; `transposed`: right is columns × depth.
inline Val multiplied(TextKernel& k, const Val& left, const Val& right, bool transposed, const Val& start) {
  const Val r = k.fresh(start.type);
  k.raw(
      fmt::format("{} = \"tpu.matmul\"({}, {}, {}) <{{dimension_numbers = #tpu.dot_dimension_numbers<[1], [{}], "
                  "[0], [{}], [0, 0, 1, {}], [], []>, transpose_lhs_hint = false}}> : ({}, {}, {}) -> {}",
                  r.name, left.name, right.name, start.name, transposed ? 1 : 0, transposed ? 0 : 1, transposed ? 0 : 1,
                  left.type, right.type, start.type, r.type));
  return r;
}

}  // namespace smalti::cpu::testing
