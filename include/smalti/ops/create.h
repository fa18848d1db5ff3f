// New arrays: constants and ranges. Error SM6220: a negative size.
#pragma once

#include <span>
#include <vector>

#include "smalti/operand.h"

namespace smalti {

Array zeros(Shape shape, DType dtype = DType::f32, Location at = Location::current());
Array ones(Shape shape, DType dtype = DType::f32, Location at = Location::current());
/// Not initialised (pl.empty). Error SM6402 in kernels, whose memory is `empty_ref` (D12), and in traced functions.
Array empty(Shape shape, DType dtype = DType::f32, Location at = Location::current());
Array empty_like(const Array& x, Location at = Location::current());
/// Every element `value`, a scalar or an array that broadcasts to the shape (else SM6301); without a dtype, the
/// value's.
Array full(Shape shape, const Operand& value);
Array full(Shape shape, const Operand& value, DType dtype);
/// Shape and dtype of `x`: an array, a traced value or a Ref.
Array zeros_like(const Array& x, Location at = Location::current());
Array zeros_like(const Ref& x, Location at = Location::current());
Array ones_like(const Array& x, Location at = Location::current());
Array ones_like(const Ref& x, Location at = Location::current());
Array full_like(const Array& x, const Operand& value);
Array full_like(const Ref& x, const Operand& value);
/// 0, 1, 2 … along `dimension` (lax.broadcasted_iota). Error SM6305: there is no such dimension.
Array broadcasted_iota(DType dtype, Shape shape, int64_t dimension, Location at = Location::current());
/// 0 … n-1, i32 by default.
Array arange(int64_t n, DType dtype = DType::i32, Location at = Location::current());

/// An array that owns a copy of these elements, in row-major order. T defines the dtype: float f32, double f64, int8_t
/// i8 … uint64_t u64. Without a shape, of rank 1. Error SM6303: the shape has another number of elements.
template <class T>
Array array(std::span<const T> elements, Shape shape, Location at = Location::current());
template <class T>
Array array(const std::vector<T>& elements, Shape shape, Location at = Location::current()) {
  return array(std::span<const T>(elements), std::move(shape), at);
}
template <class T>
Array array(const std::vector<T>& elements) {
  return array(std::span<const T>(elements), {static_cast<int64_t>(elements.size())});
}

}  // namespace smalti
