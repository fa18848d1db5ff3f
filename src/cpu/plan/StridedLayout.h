// Strided memory of refs and values. The plan of a kernel and its emitted code derive views of it by the same rules:
// for the plan a number is known or not (MemoryView.h), in emitted code it is a register (emit/View.h).
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/RowMajor.h"
#include "base/Tiles.h"
#include "schedule/UnitDims.h"
#include "smalti/array.h"

namespace smalti::cpu {

/// The elements of a ref or value in memory.
template <class N>
struct StridedLayout {
  using Number = N;
  static constexpr int kValue = -1;

  DType dtype = DType::f32;
  Shape shape;
  std::vector<Number> strides;  ///< in elements, one per dimension
  std::vector<Number> sizes;    ///< per dimension, of refs with dynamic dimensions ('?' in `shape`); else empty
  /// Arrays in HBM occupy whole tiles: how far a slice may extend past its end in each dimension. Empty: not at all.
  Shape padding;
  std::vector<Number> present;  ///< per dimension: how much of such a slice is in the array. Empty: all of it.
  /// Id of a memory of the kernel: views of different memories never overlap. kValue: written once, before it is read.
  int memory = kValue;

  int64_t elements() const { return num_elements(shape); }
  bool dynamic() const { return !sizes.empty(); }
  bool extendsPast() const { return !present.empty(); }
};

/// False: the two views have no element in common.
template <class N>
bool mayOverlap(const StridedLayout<N>& a, const StridedLayout<N>& b) {
  return a.memory == b.memory && a.memory != StridedLayout<N>::kValue;
}

/// The view with its dimensions in another order.
template <class View>
View ordered(const View& v, const Shape& order) {
  View out = v;
  for (size_t d = 0; d < order.size(); ++d) {
    out.shape[d] = v.shape[static_cast<size_t>(order[d])];
    out.strides[d] = v.strides[static_cast<size_t>(order[d])];
  }
  return out;
}

// The functions below take an `Arithmetic` on numbers:
//   Number constant(int64_t);
//   static std::optional<int64_t> known(Number);  its value, where it is known when code is planned
//   Number add(Number, Number), multiply(Number, Number);
//   Number divideExactly(Number, int64_t);        emitted code ends the call where there is a remainder

template <class Arithmetic>
auto rowMajor(Arithmetic arithmetic, std::span<const int64_t> shape) {
  std::vector<typename Arithmetic::Number> strides;
  for (const int64_t stride : rowMajorStrides(shape)) strides.push_back(arithmetic.constant(stride));
  return strides;
}

/// True if the elements are known to be row-major without gaps.
template <class Arithmetic, class View>
bool isRowMajor(const View& v) {
  if (v.dynamic() || v.extendsPast()) return false;
  int64_t stride = 1;
  for (size_t d = v.shape.size(); d-- > 0;) {
    if (v.shape[d] != 1 && Arithmetic::known(v.strides[d]) != stride) return false;
    stride *= v.shape[d];
  }
  return true;
}

/// Takes a box of `sizes` with every `steps`-th element (empty: every element). The box is inside the array.
template <class Arithmetic, class View>
void takeBox(Arithmetic arithmetic, View& v, std::span<const int64_t> sizes, std::span<const int64_t> steps) {
  v.shape.assign(sizes.begin(), sizes.end());
  v.sizes.clear();
  v.padding.clear();
  v.present.clear();
  for (size_t d = 0; d < steps.size(); ++d)
    v.strides[d] = arithmetic.multiply(v.strides[d], arithmetic.constant(steps[d]));
}

/// Views the same elements in the same order in another shape: unit dimensions may be added and removed with any
/// strides, anything else needs a row-major view. nullopt if strides cannot express it.
template <class Arithmetic, class View>
std::optional<View> reshaped(Arithmetic arithmetic, const View& v, std::span<const int64_t> shape) {
  View out = v;
  out.shape.assign(shape.begin(), shape.end());
  const bool isDense = isRowMajor<Arithmetic>(v);
  const auto source = !isDense || !v.padding.empty() ? schedule::unitReshape(v.shape, shape) : std::nullopt;
  if (!source) {
    if (!isDense) return std::nullopt;
    out.strides = rowMajor(arithmetic, shape);
    out.padding = paddingAfterReshape(v.shape, v.padding, shape);
    return out;
  }
  out.strides.assign(shape.size(), arithmetic.constant(0));
  if (v.dynamic()) out.sizes.assign(shape.size(), arithmetic.constant(1));
  if (v.extendsPast()) out.present.assign(shape.size(), arithmetic.constant(1));
  if (!v.padding.empty()) out.padding.assign(shape.size(), 0);
  for (size_t d = 0; d < shape.size(); ++d) {
    if ((*source)[d] < 0) continue;
    const auto from = static_cast<size_t>((*source)[d]);
    out.strides[d] = v.strides[from];
    if (v.dynamic()) out.sizes[d] = v.sizes[from];
    if (v.extendsPast()) out.present[d] = v.present[from];
    if (!v.padding.empty() && keepsPadding(from, v.shape.size(), d, shape.size())) out.padding[d] = v.padding[from];
  }
  return out;
}

/// The view without dimensions of size 1, nor its padding.
template <class View>
View squeezed(View v) {
  size_t rank = 0;
  for (size_t d = 0; d < v.shape.size(); ++d) {
    if (v.shape[d] == 1) continue;
    v.shape[rank] = v.shape[d];
    v.strides[rank] = v.strides[d];
    if (v.dynamic()) v.sizes[rank] = v.sizes[d];
    if (v.extendsPast()) v.present[rank] = v.present[d];
    ++rank;
  }
  v.shape.resize(rank);
  v.strides.resize(rank);
  v.sizes.resize(std::min(rank, v.sizes.size()));
  v.present.resize(std::min(rank, v.present.size()));
  v.padding.clear();
  return v;
}

}  // namespace smalti::cpu
