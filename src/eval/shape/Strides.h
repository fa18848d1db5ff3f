// Row-major strides and offsets of up to kMaxDims dims, on the stack.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/RowMajor.h"
#include "eval/Tensor.h"

namespace smalti::eval {

/// The most dims of an operand or a result.
inline constexpr int kMaxOperandDims = 16;
/// Views of views inside the evaluators may add a few.
inline constexpr int kMaxDims = kMaxOperandDims + 4;

/// A short list of dims or strides.
class DimList {
 public:
  DimList() {}  // NOLINT(modernize-use-equals-default): the values are left as they are
  explicit DimList(Dims dims) {
    for (int64_t d : dims) push(d);
  }
  DimList(std::initializer_list<int64_t> dims) {
    for (int64_t d : dims) push(d);
  }
  DimList(int n, int64_t value) : size_(n) {
    for (int d = 0; d < n; ++d) values_[d] = value;
  }
  DimList(const DimList& other) : DimList(Dims(other)) {}
  DimList& operator=(const DimList& other) {
    size_ = other.size_;
    for (int d = 0; d < size_; ++d) values_[d] = other.values_[d];
    return *this;
  }

  void push(int64_t v) { values_[size_++] = v; }
  void resize(int n) { size_ = n; }
  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t& operator[](int i) { return values_[i]; }
  int64_t operator[](int i) const { return values_[i]; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + size_; }
  std::span<int64_t> values() { return {values_.data(), static_cast<size_t>(size_)}; }
  operator Dims() const { return {values_.data(), static_cast<size_t>(size_)}; }  // NOLINT: it is a list of dims
  bool contains(int64_t v) const {
    for (int64_t x : *this)
      if (x == v) return true;
    return false;
  }

 private:
  std::array<int64_t, kMaxDims> values_;
  int size_ = 0;
};

/// Strides of a dense row-major tensor, in elements.
inline DimList rowMajorStrides(Dims shape) {
  DimList strides(static_cast<int>(shape.size()), 1);
  smalti::rowMajorStrides(shape, strides.values());
  return strides;
}

/// Product of dims [from, to).
inline int64_t productOf(Dims shape, int from, int to) {
  int64_t n = 1;
  for (int d = from; d < to; ++d) n *= shape[d];
  return n;
}
inline int64_t productOf(Dims shape) { return productOf(shape, 0, static_cast<int>(shape.size())); }

/// x mod n in [0, n).
inline int64_t floorMod(int64_t x, int64_t n) {
  const int64_t r = x % n;
  return r < 0 ? r + n : r;
}

/// Walks all multi-indices of `shape` in row-major order and keeps K linear offsets, one per stride list.
template <int K>
class Odometer {
 public:
  Odometer(Dims shape, const std::array<Dims, K>& strides) : shape_(shape), index_(static_cast<int>(shape.size()), 0) {
    for (int k = 0; k < K; ++k) strides_[k] = DimList(strides[k]);
  }
  int64_t offset(int k) const { return offsets_[k]; }
  int64_t index(int d) const { return index_[d]; }
  /// False when the walk is over (it is then back at the start).
  bool next() {
    for (int d = shape_.size() - 1; d >= 0; --d) {
      for (int k = 0; k < K; ++k) offsets_[k] += strides_[k][d];
      if (++index_[d] < shape_[d]) return true;
      for (int k = 0; k < K; ++k) offsets_[k] -= strides_[k][d] * shape_[d];
      index_[d] = 0;
    }
    return false;
  }

 private:
  DimList shape_, index_;
  std::array<DimList, K> strides_;
  std::array<int64_t, K> offsets_{};
};

}  // namespace smalti::eval
