// Refs: references to memory that kernels read, write and copy (D1–D9). `x[_]` reads the block, `o[_] = v` writes it,
// `x[0, ds(i * 8, 8)]` takes a row and eight lanes.
#pragma once

#include <initializer_list>
#include <memory>
#include <type_traits>
#include <vector>

#include "smalti/kernel_types.h"
#include "smalti/operand.h"

namespace smalti {

/// Python's `...` in an index.
struct Ellipsis {};
inline constexpr Ellipsis _{};
/// Python's `:` in an index: the whole axis.
struct All {};
inline constexpr All all_of{};

/// A slice of an axis: `size` elements from `start`, each `stride` apart (D2). `start` and (for DMA) `size` are integer
/// scalars, and may be traced. Error SM6111: a negative stride.
struct Slice {
  Array start, size;
  int64_t stride = 1;
  Location at;
};
Slice ds(const Operand& start, const Operand& size, int64_t stride = 1);
inline Slice dslice(const Operand& start, const Operand& size, int64_t stride = 1) { return ds(start, size, stride); }

/// One entry of an index. A scalar, which may be negative if it is known during tracing (-1: the last element), removes
/// its axis.
class Index {
 public:
  enum class Kind : uint8_t { ellipsis, all, scalar, slice };
  Index(Ellipsis, Location at = Location::current());
  Index(All, Location at = Location::current());
  Index(const Slice& slice, Location at = Location::current());
  Index(const Array& scalar, Location at = Location::current());
  Index(const RefView& scalar, Location at = Location::current());
  template <class T, class = std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>>
  Index(T scalar, Location at = Location::current()) : Index(Operand(scalar, at).array(), at) {}
  Index(const Index&);
  Index(Index&&) noexcept;
  Index& operator=(const Index&);
  Index& operator=(Index&&) noexcept;
  ~Index();

  Kind kind;
  Slice slice;
  Array scalar;
  Location at;
};

namespace detail {
struct RefNode;
}

/// A window of memory inside a kernel. Copying a Ref copies the name, not the memory. Errors of an index: SM6108 (more
/// entries than axes), SM6109 (known to be outside), SM6110 (not an integer scalar); SM4010 at run time (outside).
class Ref {
 public:
  Ref() = default;
  explicit Ref(std::shared_ptr<const detail::RefNode> node) : node_(std::move(node)) {}
  Ref(const Ref&);
  Ref(Ref&&) noexcept;
  Ref& operator=(const Ref&);
  Ref& operator=(Ref&&) noexcept;
  ~Ref();

  const Shape& shape() const;
  DType dtype() const;
  MemorySpace memory_space() const;
  int64_t rank() const { return static_cast<int64_t>(shape().size()); }
  /// Size of an axis; negative axes count from the end.
  int64_t dim(int64_t axis) const;

  RefView operator[](const Index& index) const;
#if defined(__cpp_multidimensional_subscript)
  template <class... I>
  RefView operator[](const Index& first, const Index& second, const I&... rest) const;
#endif
  /// The same for C++20: `x[{0, ds(i, 8)}]`.
  RefView operator[](std::initializer_list<Index> index) const;

  /// A part of the memory as a Ref, for DMA, semaphores, `load` and `store` (D4). Static bounds are checked (E-L8).
  template <class... I>
  Ref at(const Index& first, const I&... rest) const {
    return slice({first, Index(rest)...});
  }
  /// The same for an index that is computed by the C++ program.
  Ref at(const std::vector<Index>& index) const;
  /// The same bits as another dtype; a change of width rescales the second-minor axis (D5). Error SM6113: the
  /// axis does not divide, or there is none.
  Ref bitcast(DType dtype, Location at = Location::current()) const;
  /// The same elements in another shape; one entry may be -1 (D5). Error SM6114: another number of elements.
  Ref reshape(Shape shape, Location at = Location::current()) const;

  const std::shared_ptr<const detail::RefNode>& node() const { return node_; }

 private:
  Ref slice(std::initializer_list<Index> index) const;
  std::shared_ptr<const detail::RefNode> node_;
};

/// `ref[index]`: the value read there; assigning to it writes to the Ref.
class RefView {
 public:
  RefView(Ref ref, std::vector<Index> index);

  /// The value at the time `[]` was called. `const Array&`, so that code without `auto` needs no copies.
  operator const Array&() const { return value_; }
  const Array& value() const { return value_; }
  const Shape& shape() const { return value_.shape(); }
  DType dtype() const { return value_.dtype(); }
  int64_t rank() const { return value_.rank(); }
  int64_t dim(int64_t axis) const { return value_.dim(axis); }

  /// Stores `value`, broadcast to the view; C++ numbers are converted to its dtype (S-D2). Errors: SM6112 (another
  /// dtype), SM6301 (a shape that does not broadcast).
  const RefView& operator=(const Operand& value) const;
  const RefView& operator=(const RefView& value) const;
  RefView(const RefView&);
  ~RefView();
  const RefView& operator+=(const Operand& value) const;
  const RefView& operator-=(const Operand& value) const;
  const RefView& operator*=(const Operand& value) const;
  const RefView& operator/=(const Operand& value) const;
  const RefView& operator|=(const Operand& value) const;
  const RefView& operator&=(const Operand& value) const;
  const RefView& operator^=(const Operand& value) const;

  const Ref& ref() const { return ref_; }
  const std::vector<Index>& index() const { return index_; }

 private:
  Ref ref_;
  std::vector<Index> index_;
  Array value_;
};

#if defined(__cpp_multidimensional_subscript)
template <class... I>
RefView Ref::operator[](const Index& first, const Index& second, const I&... rest) const {
  return (*this)[std::initializer_list<Index>{first, second, Index(rest)...}];
}
#endif

/// Reads and writes a whole Ref or `ref.at(…)` (D6): elements where `mask`, a pred that broadcasts to the Ref, is false
/// keep their value. Errors as for an assignment to `ref[_]`; SM6302: a mask of another dtype.
Array load(const Ref& ref, Location at = Location::current());
void store(const Ref& ref, const Operand& value);
void store(const Ref& ref, const Operand& value, const Operand& mask);
/// Writes `value` and returns the previous value (D7). Errors as for `store`.
Array swap(const Ref& ref, const Operand& value);

}  // namespace smalti
