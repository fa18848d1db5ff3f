// Reductions. Negative axes count from the end; no axes: all. Narrow floats accumulate in f32. Error SM6305: there is
// no such axis, or one is named twice.
#pragma once

#include <vector>

#include "smalti/operand.h"

namespace smalti {

/// The axes of a reduction, and whether they are kept with size 1. `sum(x, 1)`, `sum(x, {.axes = {0, 1}})`,
/// `max(x, {.axes = {1}, .keepdims = true})`.
struct Axes {
  std::vector<int64_t> axes{};
  bool keepdims = false;
};

Array sum(const Operand& x, Axes axes = {});   ///< 0 of no elements; integers below 32 bits, pred: in 32 bits
Array prod(const Operand& x, Axes axes = {});  ///< 1 of no elements; dtypes as sum; outside kernels
Array max(const Operand& x, Axes axes = {});   ///< NaN if one is NaN; SM6307 of no elements; x's dtype
Array min(const Operand& x, Axes axes = {});   ///< NaN if one is NaN; SM6307 of no elements; x's dtype
Array mean(const Operand& x, Axes axes = {});  ///< a float: x's dtype, f32 of integers; NaN of no elements
Array var(const Operand& x, Axes axes = {});   ///< mean((x - mean)²): divides by n, ddof 0; dtype as mean
Array any(const Operand& x, Axes axes = {});   ///< pred; numbers are compared with 0; false of no elements
Array all(const Operand& x, Axes axes = {});   ///< pred; numbers are compared with 0; true of no elements
inline Array sum(const Operand& x, int64_t axis) { return sum(x, Axes{{axis}}); }
inline Array max(const Operand& x, int64_t axis) { return max(x, Axes{{axis}}); }
inline Array min(const Operand& x, int64_t axis) { return min(x, Axes{{axis}}); }
inline Array mean(const Operand& x, int64_t axis) { return mean(x, Axes{{axis}}); }
inline Array prod(const Operand& x, int64_t axis) { return prod(x, Axes{{axis}}); }
inline Array var(const Operand& x, int64_t axis) { return var(x, Axes{{axis}}); }
inline Array any(const Operand& x, int64_t axis) { return any(x, Axes{{axis}}); }
inline Array all(const Operand& x, int64_t axis) { return all(x, Axes{{axis}}); }
/// i32 index of the first extreme element, or of the first NaN (S-E13). Error SM6307: the axis has size 0.
Array argmax(const Operand& x, int64_t axis);
Array argmin(const Operand& x, int64_t axis);
/// exp(x - max) / sum along the axis: no overflow for large x. The dtype of x, f32 for integers; every op rounds to it.
/// NaN along an axis that holds NaN or inf, or nothing but -inf.
Array softmax(const Operand& x, int64_t axis = -1);

}  // namespace smalti
