// The bytes of a message between processes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <utility>

namespace smalti {

/// The allocator of messages. libsmalti_mpi.so, which is not linked with Smalti, has a variable of its own, which is
/// set to the allocator of the library that loads it.
struct MessageMemory {
  void* (*allocate)(size_t bytes) = nullptr;
  void (*free)(void* block, size_t bytes) = nullptr;
};
extern MessageMemory messageMemory;

/// Like a vector, but its memory is not initialised, and comes from blocks that are kept for the next message
/// (BlockMemory.h): new pages and zeros cost more than copying a message does.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::span<const std::byte> bytes) { append(bytes); }
  Bytes(const Bytes& other) : Bytes(std::span<const std::byte>(other)) {}
  Bytes(Bytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Bytes& operator=(Bytes other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~Bytes() {
    if (data_) messageMemory.free(data_, capacity_);
  }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  operator std::span<const std::byte>() const { return {data_, size_}; }

  /// The value of new bytes is unspecified.
  void resize(size_t size) {
    if (size > capacity_) reallocate(std::max(size, 2 * capacity_));
    size_ = size;
  }
  /// Memory for that many bytes, so that what is appended later is not copied again.
  void reserve(size_t capacity) {
    if (capacity > capacity_) reallocate(capacity);
  }
  void append(std::span<const std::byte> more) {
    const size_t at = size_;
    resize(size_ + more.size());
    if (!more.empty()) std::memcpy(data_ + at, more.data(), more.size());
  }

  friend bool operator==(const Bytes& a, const Bytes& b) {
    return a.size_ == b.size_ && (a.size_ == 0 || std::memcmp(a.data_, b.data_, a.size_) == 0);
  }

 private:
  void reallocate(size_t capacity) {
    void* block = messageMemory.allocate(capacity);
    if (!block) throw std::bad_alloc();
    if (size_ > 0) std::memcpy(block, data_, size_);
    if (data_) messageMemory.free(data_, capacity_);
    data_ = static_cast<std::byte*>(block);
    capacity_ = capacity;
  }

  std::byte* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace smalti
