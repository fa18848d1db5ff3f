// Views as matrices that products can read, by the same rule for plans and emitted code (StridedLayout.h).
#pragma once

#include "cpu/plan/StridedLayout.h"

namespace smalti::cpu {

/// A matrix whose last dimension, as it is stored, is contiguous.
template <class Number>
struct MatrixForm {
  Number leading{};         ///< leading dimension: elements from a stored row to the next
  bool transposed = false;  ///< stored as columns × rows
};

/// `rows` and `columns`: dimensions of the view, -1 for size 1. nullopt: neither is contiguous.
template <class Arithmetic, class View>
auto matrixForm(Arithmetic arithmetic, const View& v, int64_t rows, int64_t columns)
    -> std::optional<MatrixForm<typename Arithmetic::Number>> {
  const auto size = [&](int64_t d) { return d < 0 ? int64_t{1} : v.shape[static_cast<size_t>(d)]; };
  const auto stride = [&](int64_t d) { return d < 0 ? arithmetic.constant(1) : v.strides[static_cast<size_t>(d)]; };
  const auto form = [&](int64_t outer, int64_t inner, bool transposed) {
    return MatrixForm<typename Arithmetic::Number>{size(outer) == 1 ? arithmetic.constant(size(inner)) : stride(outer),
                                                   transposed};
  };
  if (size(columns) == 1 || Arithmetic::known(stride(columns)) == 1) return form(rows, columns, false);
  if (size(rows) == 1 || Arithmetic::known(stride(rows)) == 1) return form(columns, rows, true);
  return std::nullopt;
}

}  // namespace smalti::cpu
