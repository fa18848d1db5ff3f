#include "smalti/array.h"

#include "base/CheckedBytes.h"
#include "base/memory/BlockMemory.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace smalti {

int64_t num_elements(std::span<const int64_t> shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

std::string shape_str(std::span<const int64_t> shape) { return fmt::format("{}", fmt::join(shape, "x")); }

std::string ArrayType::str() const {
  std::vector<std::string> dims;
  for (const int64_t d : shape) dims.push_back(d < 0 ? "?" : std::to_string(d));
  return fmt::format("{}[{}]", name(dtype), fmt::join(dims, ","));
}

int64_t checkedBytes(const ArrayType& type) {
  int64_t bytes = storage_bytes(type.dtype);
  for (int64_t d : type.shape)
    if (d < 0 || __builtin_mul_overflow(bytes, d, &bytes)) return -1;
  return bytes;
}

Diagnostic noMemoryFor(const ArrayType& type) {
  const int64_t bytes = checkedBytes(type);
  return {.code = "SM1009",
          .message = fmt::format("out of memory for an array of type {}", type.str()),
          .place = {},
          .need = bytes < 0 ? "more bytes than 64 bits count" : fmt::format("{} bytes", bytes),
          .help = "use smaller arrays, or a machine with more memory"};
}

Array::Array(const Array&) = default;
// A moved-from array has no value: its memory may be freed.
Array::Array(Array&& o) noexcept
    : type_(std::exchange(o.type_, {})),
      data_(std::exchange(o.data_, nullptr)),
      owner_(std::move(o.owner_)),
      traced_(std::exchange(o.traced_, false)),
      weak_(std::exchange(o.weak_, false)) {}
Array& Array::operator=(const Array& o) { return *this = Array(o); }
// What this array owns may own `o`, so it is released last.
Array& Array::operator=(Array&& o) noexcept {
  Array taken(std::move(o));
  std::swap(type_, taken.type_);
  std::swap(data_, taken.data_);
  std::swap(owner_, taken.owner_);
  std::swap(traced_, taken.traced_);
  std::swap(weak_, taken.weak_);
  return *this;
}
Array::~Array() = default;

Result<Array> Array::allocate(ArrayType type) {
  const int64_t bytes = checkedBytes(type);
  void* memory = bytes >= 0 ? allocateBlock(static_cast<size_t>(bytes)) : nullptr;
  if (!memory) return fail(noMemoryFor(type));
  return view(std::move(type), memory,
              std::shared_ptr<void>(memory, [bytes](void* p) { freeBlock(p, static_cast<size_t>(bytes)); }));
}

Array Array::view(ArrayType type, void* data) { return view(std::move(type), data, nullptr); }

Array Array::view(ArrayType type, void* data, std::shared_ptr<void> owner) {
  Array a;
  a.type_ = std::move(type);
  a.data_ = static_cast<std::byte*>(data);
  a.owner_ = std::move(owner);
  return a;
}

Array Array::traced(ArrayType type, std::shared_ptr<void> tracer) {
  Array a = view(std::move(type), nullptr, std::move(tracer));
  a.traced_ = true;
  return a;
}

int64_t Array::dim(int64_t axis) const {
  if (axis < 0) axis += rank();
  return axis < 0 || axis >= rank() ? 0 : type_.shape[axis];
}

Array Array::with_weak_type(bool weak) const {
  Array a = *this;
  a.weak_ = weak;
  return a;
}

Result<Array> Array::clone() const {
  auto copy = allocate(type_);
  if (copy && bytes() > 0) std::memcpy(copy->data(), data_, bytes());
  return copy;
}

Result<Array> Array::reshaped(Shape shape) const {
  const ArrayType type{type_.dtype, std::move(shape)};
  if (checkedBytes(type) != bytes())
    return fail({.code = "SM1010",
                 .message = fmt::format("cannot reshape {} to {}", type_.str(), type.str()),
                 .place = {},
                 .need = fmt::format("{} elements", type_.elements()),
                 .have = fmt::format("shape [{}]", fmt::join(type.shape, ", "))});
  Array a = *this;
  a.type_ = type;
  return a;
}

}  // namespace smalti
