// Refs that access memory as elements of another width (tpu.memref_bitcast; S-D7): their representation, and views of
// them, by the same rules for plans and emitted code (StridedLayout.h).
#pragma once

#include <array>

#include "cpu/plan/ReshapedStrides.h"
#include "cpu/plan/StridedLayout.h"

namespace smalti::cpu {

/// Elements of one dtype in the memory of another. Rows are counted along the last dimension but one: row r * k + j of
/// narrow elements holds part j, the least significant first, of the elements in row r of k times as wide ones.
///
/// Stored elements are called "cells". A wider element consists of `cellsPerElement` cells, `cellStride` apart.
/// Narrower elements share a cell: the element at index i is in narrow row `row + sum(i[d] * rowSteps[d])`.
template <class View>
struct PackedLayout {
  using Number = typename View::Number;

  DType dtype = DType::f32;  ///< dtype of the ref's elements
  View cells;                ///< has the shape of the ref, and dtype, address and strides of the stored elements
  int64_t cellsPerElement = 1;
  Number cellStride{};  ///< distance in stored elements; only if cellsPerElement > 1
  int64_t elementsPerCell = 1;
  std::vector<Number> rowSteps;  ///< narrow rows per index, by dimension; only if elementsPerCell > 1
  Number row{};                  ///< narrow row of element (0, …, 0); only if elementsPerCell > 1
  Number rowStride{};            ///< stored elements from a stored row to the next; only if elementsPerCell > 1
  /// Rows that a reshape has cut into `fold` shorter ones, which become the first of two dimensions: element (i, j) is
  /// at (i / fold) * strides[0] + (i % fold) * foldStride + j * strides[1]. Every fold-th row is a slice of plain
  /// strides.
  int64_t fold = 1;
  Number foldStride{};  ///< only if fold > 1

  bool isPlain() const { return cellsPerElement == 1 && elementsPerCell == 1 && fold == 1 && dtype == cells.dtype; }
  /// Whether `slice` can express a slice of these sizes and steps (empty: all 1).
  bool hasSlice(std::span<const int64_t> sizes, std::span<const int64_t> steps = {}) const {
    return fold == 1 || sizes[0] == 1 || (!steps.empty() && steps[0] % fold == 0);
  }
  /// The steps of such a slice in rows before they were cut.
  std::array<int64_t, 2> stepsBeforeFold(std::span<const int64_t> sizes, std::span<const int64_t> steps) const {
    return {sizes[0] == 1 ? 1 : steps[0] / fold, steps.empty() ? 1 : steps[1]};
  }
};

inline constexpr const char* kFoldedRows = "an access to neighbouring rows of a ref that a reshape has cut";

// The `Arithmetic` of StridedLayout.h also has
//   void moveByRows(View&, Number rows, int64_t elementsPerCell, Number rowStride);
// which moves a view by rows / elementsPerCell stored rows; emitted code ends the call where there is a remainder.

/// A ref as a packed view, without what is known about whole blocks.
template <class Packed>
Packed unpackedAs(const decltype(Packed::cells)& from) {
  Packed v;
  v.dtype = from.dtype;
  v.cells = from;
  v.cells.padding.clear();
  v.cells.forgetBlock();
  return v;
}

/// A view with elements narrower than the cells.
template <class Packed, class Arithmetic>
Packed narrowedView(Arithmetic arithmetic, const decltype(Packed::cells)& from, DType to) {
  const size_t rank = from.shape.size(), rows = rank - 2;
  auto v = unpackedAs<Packed>(from);
  v.dtype = to;
  v.elementsPerCell = bit_width(from.dtype) / bit_width(to);
  v.row = arithmetic.constant(0);
  v.rowStride = from.strides[rows];
  // A single row has no stride of its own: the next dimension's is the distance of rows.
  if (from.shape[rows] == 1 && !from.dynamic()) {
    v.rowStride = arithmetic.constant(1);
    for (size_t d = rows; d-- > 0;)
      if (from.shape[d] != 1) {
        v.rowStride = from.strides[d];
        break;
      }
  }
  v.rowSteps.assign(rank, arithmetic.constant(0));
  v.rowSteps[rows] = arithmetic.constant(1);
  v.cells.strides[rows] = arithmetic.constant(0);
  // A dimension moves from the stored rows to the narrow ones if its stride is a whole number of stored rows.
  const auto rowStride = arithmetic.known(v.rowStride);
  for (size_t d = 0; d < rows; ++d) {
    const auto stride = arithmetic.known(v.cells.strides[d]);
    if (!stride || !rowStride || *rowStride == 0 || *stride % *rowStride != 0) continue;
    v.rowSteps[d] = arithmetic.constant(*stride / *rowStride * v.elementsPerCell);
    v.cells.strides[d] = arithmetic.constant(0);
  }
  return v;
}

/// A view with elements wider than the cells.
template <class Packed, class Arithmetic>
Packed widenedView(Arithmetic arithmetic, const decltype(Packed::cells)& from, DType to) {
  const size_t rows = from.shape.size() - 2;
  auto v = unpackedAs<Packed>(from);
  v.dtype = to;
  v.cellsPerElement = bit_width(to) / bit_width(from.dtype);
  v.cellStride = from.strides[rows];
  v.cells.strides[rows] = arithmetic.multiply(v.cellStride, arithmetic.constant(v.cellsPerElement));
  return v;
}

/// The stored elements of the view, as elements of their own width; nullopt: strides cannot express it.
template <class Arithmetic, class Packed>
auto storedElements(Arithmetic arithmetic, const Packed& v) -> std::optional<decltype(Packed::cells)> {
  auto out = v.cells;
  if (v.cellsPerElement == 1 && v.elementsPerCell == 1) return out;
  const size_t rank = v.cells.shape.size(), rows = rank - 2;
  if (v.cellsPerElement > 1) {
    const auto stride = arithmetic.known(v.cells.strides[rows]), part = arithmetic.known(v.cellStride);
    const bool single = out.shape[rows] == 1 && !out.dynamic();
    if (!single && (!stride || !part || *stride != *part * v.cellsPerElement)) return std::nullopt;
    out.strides[rows] = v.cellStride;
    out.shape[rows] *= v.cellsPerElement;
    if (out.dynamic()) out.sizes[rows] = arithmetic.multiply(out.sizes[rows], arithmetic.constant(v.cellsPerElement));
    return out;
  }
  for (size_t d = 0; d < rank; ++d) {
    if (d == rows) continue;
    const auto step = arithmetic.known(v.rowSteps[d]);
    if (!step || *step % v.elementsPerCell != 0) return std::nullopt;
    out.strides[d] = arithmetic.add(out.strides[d],
                                    arithmetic.multiply(arithmetic.constant(*step / v.elementsPerCell), v.rowStride));
  }
  if (arithmetic.known(v.rowSteps[rows]) != 1 || out.shape[rows] % v.elementsPerCell != 0) return std::nullopt;
  arithmetic.moveByRows(out, v.row, v.elementsPerCell, v.rowStride);
  out.strides[rows] = v.rowStride;
  if (out.dynamic()) out.sizes[rows] = arithmetic.divideExactly(out.sizes[rows], v.elementsPerCell);
  out.shape[rows] /= v.elementsPerCell;
  return out;
}

/// The bits of a view as elements of `dtype`, `shape` as the verifier of tpu.memref_bitcast demands; nullopt where
/// PackedLayout cannot represent it.
template <class Arithmetic, class Packed>
std::optional<Packed> bitcastElements(Arithmetic arithmetic, const Packed& from, DType to,
                                      std::span<const int64_t> shape) {
  const int was = bit_width(from.dtype), is = bit_width(to);
  if (from.fold > 1) return std::nullopt;
  if (was < 2 || is < 2 || is_semaphore(from.dtype) || is_semaphore(to) || from.cells.extendsPast())
    return std::nullopt;
  if (was == is) {
    Packed v = from;
    v.dtype = to;
    return v;
  }
  const auto stored = storedElements(arithmetic, from);
  if (!stored || stored->shape.size() < 2) return std::nullopt;
  const int here = bit_width(stored->dtype);
  const size_t rows = stored->shape.size() - 2;
  Packed v = is < here   ? narrowedView<Packed>(arithmetic, *stored, to)
             : is > here ? widenedView<Packed>(arithmetic, *stored, to)
                         : unpackedAs<Packed>(*stored);
  v.dtype = to;
  if (stored->dynamic()) {
    const auto bits = arithmetic.multiply(stored->sizes[rows], arithmetic.constant(here));
    v.cells.sizes[rows] = arithmetic.divideExactly(bits, is);
  }
  v.cells.shape.assign(shape.begin(), shape.end());
  return v;
}

/// A reshape that cuts rows into shorter ones; nullopt: it is none.
template <class Arithmetic, class Packed>
std::optional<Packed> foldedRows(Arithmetic arithmetic, const Packed& from, std::span<const int64_t> shape) {
  const Shape& old = from.cells.shape;
  if (from.elementsPerCell > 1 || shape.size() != 2 || old.empty() || shape[1] == 0 || old.back() % shape[1] != 0)
    return std::nullopt;
  const Shape rows{num_elements(old) / old.back(), old.back()};
  auto strides = reshapedStrides(arithmetic, old, from.cells.strides, rows);
  if (!strides) return std::nullopt;
  Packed v = from;
  v.fold = old.back() / shape[1];
  v.foldStride = arithmetic.multiply((*strides)[1], arithmetic.constant(shape[1]));
  v.cells.strides = std::move(*strides);
  v.cells.shape.assign(shape.begin(), shape.end());
  return v;
}

/// Like `reshaped` of StridedLayout.h, but takes any strides that express the result.
template <class Arithmetic, class Packed>
std::optional<Packed> reshapedElements(Arithmetic arithmetic, const Packed& from, std::span<const int64_t> shape) {
  Packed v = from;
  const size_t rank = shape.size();
  if (from.fold > 1) return std::ranges::equal(from.cells.shape, shape) ? std::optional(v) : std::nullopt;
  if (const auto source = schedule::unitReshape(from.cells.shape, shape)) {
    v.cells.strides.assign(rank, arithmetic.constant(0));
    if (from.cells.dynamic()) v.cells.sizes.assign(rank, arithmetic.constant(1));
    if (from.elementsPerCell > 1) v.rowSteps.assign(rank, arithmetic.constant(0));
    for (size_t d = 0; d < rank; ++d) {
      if ((*source)[d] < 0) continue;
      const auto s = static_cast<size_t>((*source)[d]);
      v.cells.strides[d] = from.cells.strides[s];
      if (from.cells.dynamic()) v.cells.sizes[d] = from.cells.sizes[s];
      if (from.elementsPerCell > 1) v.rowSteps[d] = from.rowSteps[s];
    }
  } else {
    if (from.cells.dynamic() || from.cells.elements() != num_elements(shape)) return std::nullopt;
    auto strides = reshapedStrides(arithmetic, from.cells.shape, from.cells.strides, shape);
    if (!strides) return foldedRows(arithmetic, from, shape);
    v.cells.strides = std::move(*strides);
    if (from.elementsPerCell > 1) {
      auto steps = reshapedStrides(arithmetic, from.cells.shape, from.rowSteps, shape);
      if (!steps) return std::nullopt;
      v.rowSteps = std::move(*steps);
    }
  }
  v.cells.shape.assign(shape.begin(), shape.end());
  return v;
}

}  // namespace smalti::cpu
