// Host arrays: dtype, shape and a block of row-major elements, owned or borrowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "smalti/diagnostic.h"
#include "smalti/dtype.h"

namespace smalti {

using Shape = std::vector<int64_t>;

/// Number of elements; 1 for rank 0.
int64_t num_elements(std::span<const int64_t> shape);
/// "8x128", "" for rank 0.
std::string shape_str(std::span<const int64_t> shape);

/// dtype and shape of an array.
struct ArrayType {
  DType dtype = DType::f32;
  Shape shape;
  int64_t elements() const { return num_elements(shape); }
  int64_t bytes() const { return elements() * storage_bytes(dtype); }
  /// "f32[8,128]", "i32[]".
  std::string str() const;
  bool operator==(const ArrayType&) const = default;
};

class Array;
namespace detail {
/// Throws Error SM6119.
[[noreturn]] void traced_has_no_elements(const Array&, const std::source_location& at);
}  // namespace detail

/// A dense row-major array. Copying shares the elements; `clone` copies them.
///
/// Inside a kernel (and under a transform) an Array is *traced*: it has a type, and represents a value that is computed
/// later. `data()` of a traced array is null.
class Array {
 public:
  Array() = default;
  // Not inline: programs destroy many arrays, and would take longer to compile.
  Array(const Array&);
  Array(Array&&) noexcept;
  Array& operator=(const Array&);
  Array& operator=(Array&&) noexcept;
  ~Array();
  /// Owned, 64-byte aligned, not initialised. Fails with SM1009 if the memory cannot be allocated.
  static Result<Array> allocate(ArrayType type);
  /// A view of the caller's memory, which must stay alive and hold `type.bytes()` bytes.
  static Array view(ArrayType type, void* data);
  /// Keeps `owner` alive as long as the view.
  static Array view(ArrayType type, void* data, std::shared_ptr<void> owner);

  /// A traced array; `tracer` is the tracing machinery's own.
  static Array traced(ArrayType type, std::shared_ptr<void> tracer);

  const ArrayType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  int64_t rank() const { return static_cast<int64_t>(type_.shape.size()); }
  /// Size of an axis; negative axes count from the end. 0 if there is no such axis.
  int64_t dim(int64_t axis) const;
  int64_t elements() const { return type_.elements(); }
  int64_t bytes() const { return type_.bytes(); }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  /// The elements. A traced array has none: Error SM6119, with the user's line.
  template <class T>
  T* as(const std::source_location& at = std::source_location::current()) {
    if (traced_) detail::traced_has_no_elements(*this, at);
    return reinterpret_cast<T*>(data_);
  }
  template <class T>
  const T* as(const std::source_location& at = std::source_location::current()) const {
    if (traced_) detail::traced_has_no_elements(*this, at);
    return reinterpret_cast<const T*>(data_);
  }

  bool is_traced() const { return traced_; }
  const std::shared_ptr<void>& tracer() const { return owner_; }
  /// Computed from C++ scalars only: the dtype of the other operand takes precedence (S-D5).
  bool weak_type() const { return weak_; }
  Array with_weak_type(bool weak) const;

  /// True when no other Array shares the (owned) elements.
  bool unique() const { return owner_ && owner_.use_count() == 1; }
  /// An owned copy. Error SM1009 if the memory cannot be allocated.
  Result<Array> clone() const;
  /// The same elements in another shape. Error SM1010: it has another number of elements.
  Result<Array> reshaped(Shape shape) const;

 private:
  ArrayType type_;
  std::byte* data_ = nullptr;
  std::shared_ptr<void> owner_;
  bool traced_ = false, weak_ = false;
};

}  // namespace smalti
