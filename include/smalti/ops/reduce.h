// Reductions. Negative axes count from the end; without axes, all of them. Narrow floats accumulate in f32 (S-E7).
#pragma once

#include <vector>

#include "smalti/operand.h"

namespace smalti {

/// Which axes a reduction removes, and whether they stay with size 1. `sum(x, 1)`, `sum(x, {.axes = {0, 1}})`,
/// `max(x, {.axes = {1}, .keepdims = true})`.
struct Axes {
  std::vector<int64_t> axes{};
  bool keepdims = false;
};

Array sum(const Operand& x, Axes axes = {});
Array prod(const Operand& x, Axes axes = {});
Array max(const Operand& x, Axes axes = {});
Array min(const Operand& x, Axes axes = {});
Array mean(const Operand& x, Axes axes = {});
Array var(const Operand& x, Axes axes = {});
Array any(const Operand& x, Axes axes = {});
Array all(const Operand& x, Axes axes = {});
inline Array sum(const Operand& x, int64_t axis) { return sum(x, Axes{{axis}}); }
inline Array max(const Operand& x, int64_t axis) { return max(x, Axes{{axis}}); }
inline Array min(const Operand& x, int64_t axis) { return min(x, Axes{{axis}}); }
inline Array mean(const Operand& x, int64_t axis) { return mean(x, Axes{{axis}}); }
inline Array prod(const Operand& x, int64_t axis) { return prod(x, Axes{{axis}}); }
inline Array var(const Operand& x, int64_t axis) { return var(x, Axes{{axis}}); }
inline Array any(const Operand& x, int64_t axis) { return any(x, Axes{{axis}}); }
inline Array all(const Operand& x, int64_t axis) { return all(x, Axes{{axis}}); }
/// i32 index of the first extreme element, NaN first (S-E13).
Array argmax(const Operand& x, int64_t axis);
Array argmin(const Operand& x, int64_t axis);
/// exp(x - max) / sum, stable.
Array softmax(const Operand& x, int64_t axis = -1);

}  // namespace smalti
