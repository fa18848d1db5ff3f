// Host arrays: dtype, shape and a block of row-major elements, owned or borrowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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

/// A dense row-major array. Copying shares the elements; `clone` copies them.
class Array {
 public:
  Array() = default;
  /// Owned, 64-byte aligned, not initialised. Fails with SM1009 when the memory cannot be had.
  static Result<Array> allocate(ArrayType type);
  /// A view of the caller's memory, which must stay alive and hold `type.bytes()` bytes.
  static Array view(ArrayType type, void* data);
  /// Keeps `owner` alive as long as the view.
  static Array view(ArrayType type, void* data, std::shared_ptr<void> owner);

  const ArrayType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  int64_t elements() const { return type_.elements(); }
  int64_t bytes() const { return type_.bytes(); }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }

  /// True when no other Array shares the (owned) elements.
  bool unique() const { return owner_ && owner_.use_count() == 1; }
  Result<Array> clone() const;
  /// Same elements under another shape of as many elements (checked: SM1010).
  Result<Array> reshaped(Shape shape) const;

 private:
  ArrayType type_;
  std::byte* data_ = nullptr;
  std::shared_ptr<void> owner_;
};

}  // namespace smalti
