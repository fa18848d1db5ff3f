// Strides of a reshaped view, for numbers that are known when code is planned or are registers of the emitted code.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "smalti/array.h"

namespace smalti::cpu {

/// Strides of `to` over the same elements in the same order; nullopt: strides cannot express it. Dimensions are matched
/// in groups of equal products. `arithmetic`: as in StridedLayout.h.
template <class Arithmetic>
std::optional<std::vector<typename Arithmetic::Number>> reshapedStrides(
    Arithmetic arithmetic, std::span<const int64_t> from, std::span<const typename Arithmetic::Number> strides,
    std::span<const int64_t> to) {
  using Number = typename Arithmetic::Number;
  const Number zero = arithmetic.constant(0);
  std::vector<Number> out(to.size(), zero);
  size_t o = 0, n = 0;
  while (o < from.size() || n < to.size()) {
    const size_t firstOld = o, firstNew = n;
    int64_t old = o < from.size() ? from[o++] : 1, made = n < to.size() ? to[n++] : 1;
    while (old != made) {
      if (old < made ? o == from.size() : n == to.size()) return std::nullopt;
      if (old < made)
        old *= from[o++];
      else
        made *= to[n++];
    }
    std::optional<Number> inner;  // stride of the group's last dimension of several
    std::optional<int64_t> expected;
    for (size_t d = o; d-- > firstOld;) {
      if (from[d] == 1) continue;
      const std::optional<int64_t> stride = arithmetic.known(strides[d]);
      if (!inner)
        inner = strides[d];
      else if (!stride || stride != expected)
        return std::nullopt;
      int64_t next = 0;
      expected = stride && !__builtin_mul_overflow(*stride, from[d], &next) ? std::optional(next) : std::nullopt;
    }
    Number stride = inner ? *inner : zero;
    for (size_t d = n; d-- > firstNew;) {
      out[d] = stride;
      stride = arithmetic.multiply(stride, arithmetic.constant(to[d]));
    }
  }
  return out;
}

}  // namespace smalti::cpu
