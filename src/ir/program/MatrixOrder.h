// Products of arrays whose operands are, in memory order, a batch of matrices each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace smalti {

/// Axes of an operand that is given as it was before it was transposed by `permutation`; empty: it was not.
inline std::vector<int64_t> axesAsGiven(std::span<const int64_t> axes, std::span<const int64_t> permutation) {
  std::vector<int64_t> given(axes.begin(), axes.end());
  if (!permutation.empty())
    for (int64_t& axis : given) axis = permutation[static_cast<size_t>(axis)];
  return given;
}

/// Axes of an operand of a product, each kind in the order in which the product takes them. nullopt: the operand is not
/// a batch of matrices in memory. Otherwise whether the contracted axes are the last ones, or come before the free
/// ones.
inline std::optional<bool> contractsLast(std::span<const int64_t> batch, std::span<const int64_t> contracted,
                                         std::span<const int64_t> free) {
  int64_t next = 0;
  const auto follow = [&](std::span<const int64_t> axes) {
    for (const int64_t axis : axes)
      if (axis != next++) return false;
    return true;
  };
  const bool last = free.empty() || contracted.empty() || free[0] < contracted[0];
  if (!follow(batch) || !follow(last ? free : contracted) || !follow(last ? contracted : free)) return std::nullopt;
  return last;
}

}  // namespace smalti
