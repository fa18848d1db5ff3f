// Ops that move elements. Negative axes count from the end. Errors: SM6305 (no such axis), SM6307 (out of bounds).
#pragma once

#include <vector>

#include "smalti/operand.h"

namespace smalti {

/// One entry may be -1. Errors: SM6303 (wrong number of elements).
Array reshape(const Operand& x, Shape shape);
Array broadcast_to(const Operand& x, Shape shape);  ///< trailing axes are matched, as NumPy does; SM6301
/// lax.broadcast_in_dim: operand axis i becomes result axis `dimensions[i]`.
Array broadcast_in_dim(const Operand& x, Shape shape, std::vector<int64_t> dimensions);
/// Reverses the axes, or permutes them: result axis i is operand axis `permutation[i]`.
Array transpose(const Operand& x);
Array transpose(const Operand& x, std::vector<int64_t> permutation);
Array swapaxes(const Operand& x, int64_t axis1, int64_t axis2);  ///< x with two axes exchanged
Array expand_dims(const Operand& x, int64_t axis);               ///< an axis of size 1 at `axis` of the result
/// Drops axes of size 1; all of them without `axes`. Error SM6303: an axis of another size.
Array squeeze(const Operand& x);
Array squeeze(const Operand& x, std::vector<int64_t> axes);
/// Parts one after the other along `axis`; they are converted to their promoted dtype (S-D5). Errors: SM6301 (another
/// size differs), SM6307 (no parts).
Array concatenate(const std::vector<Operand>& parts, int64_t axis = 0, Location at = Location::current());
/// Parts of one shape along a new axis. dtype and errors as for `concatenate`.
Array stack(const std::vector<Operand>& parts, int64_t axis = 0, Location at = Location::current());
/// Elements [start, limit) by stride, per axis (lax.slice).
Array slice(const Operand& x, std::vector<int64_t> starts, std::vector<int64_t> limits);
Array slice(const Operand& x, std::vector<int64_t> starts, std::vector<int64_t> limits, std::vector<int64_t> strides);
/// Adds elements before and after x, per axis: `value`, a scalar that is converted to the dtype of x (2.5 in i32 is 2).
/// Errors: SM6307 (a negative width), SM6301 (a value that is not a scalar).
Array pad(const Operand& x, std::vector<std::pair<int64_t, int64_t>> widths, const Operand& value = 0);
/// x `repeats[i]` times along axis i; axes of size 1 are added in front where x has fewer. Counts are 0 or more (else
/// SM6307).
Array tile(const Operand& x, std::vector<int64_t> repeats);
/// Each element `count` times, one after the other. The count is 0 or more (else SM6307).
Array repeat(const Operand& x, int64_t count, int64_t axis);
/// numpy.take_along_axis: integer indices (else SM6302) with the rank of x. An index i stands for i modulo the size of
/// the axis, so that -1 is the last element.
Array take_along_axis(const Operand& x, const Operand& indices, int64_t axis);
/// numpy.take: the slices of an axis at these indices, whose shape replaces the axis. Indices as for `take_along_axis`.
/// Error SM6307: indices into an empty axis.
Array take(const Operand& x, const Operand& indices, int64_t axis = 0);
/// lax.dynamic_slice: starts are integer scalars, one per axis, and may be computed; one outside is moved inside.
Array dynamic_slice(const Operand& x, const std::vector<Operand>& starts, Shape sizes);
/// lax.dynamic_update_slice: x with `update` written to the slice of its size at the starts.
Array dynamic_update_slice(const Operand& x, const Operand& update, const std::vector<Operand>& starts);
/// `parts` arrays of equal size along an axis, whose size they divide (else SM6307).
std::vector<Array> split(const Operand& x, int64_t parts, int64_t axis = 0);
/// Elements with column - row <= k (tril) or >= k (triu); the others 0.
Array tril(const Operand& x, int64_t k = 0);
Array triu(const Operand& x, int64_t k = 0);

}  // namespace smalti
