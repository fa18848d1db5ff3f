// Numbers, text and lists as bytes, for messages between processes of one build on machines of one kind; and back,
// within the bytes that there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/process/Processes.h"

namespace smalti {

/// Elements that a receiver uses in place begin at a multiple of this from the beginning of the message.
constexpr size_t kMessageAlignment = 64;  // as arrays have it

class ByteWriter {
 public:
  template <class T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  void add(T value) {
    addBytes(std::as_bytes(std::span(&value, 1)));
  }
  void add(const std::string& text) { addList(std::span(text)); }
  template <class T>
  void add(const std::vector<T>& list) {
    addList(std::span(list));
  }
  /// Adds the length, then the elements.
  template <class T>
  void addList(std::span<T> list) {
    add(static_cast<uint64_t>(list.size()));
    addBytes(std::as_bytes(list));
  }
  void addBytes(std::span<const std::byte> more) { bytes_.append(more); }
  /// Zeros up to the next multiple of the alignment.
  void align() {
    static constexpr std::byte kZeros[kMessageAlignment] = {};
    addBytes(std::span(kZeros).first((kMessageAlignment - bytes_.size() % kMessageAlignment) % kMessageAlignment));
  }
  /// Reserves memory for `more` further bytes.
  void reserve(size_t more) { bytes_.reserve(bytes_.size() + more); }

  const Bytes& bytes() const { return bytes_; }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

/// Check `ok` after reading everything: missing data reads as zeros and empty lists.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : whole_(bytes.size()), rest_(bytes) {}
  bool ok() const { return ok_; }
  bool atEnd() const { return ok_ && rest_.empty(); }
  std::span<const std::byte> rest() const { return rest_; }

  template <class T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  T get() {
    T value{};
    const auto bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string text() {
    const auto bytes = list(1);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  template <class T>
  std::vector<T> numbers() {
    const auto bytes = list(sizeof(T));
    std::vector<T> all(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  }
  /// A list whose elements have this size, read in place.
  std::span<const std::byte> list(size_t elementBytes) {
    const auto count = get<uint64_t>();
    if (count > rest_.size() / elementBytes) ok_ = false;
    return take(ok_ ? count * elementBytes : 0);
  }
  /// The next `bytes` bytes, in place; none if there are fewer.
  std::span<const std::byte> next(size_t bytes) { return take(bytes); }
  /// Skips the bytes that ByteWriter::align added; `bytes` of the constructor is the whole message.
  void align() {
    const size_t at = whole_ - rest_.size();
    take((kMessageAlignment - at % kMessageAlignment) % kMessageAlignment);
  }

 private:
  std::span<const std::byte> take(size_t n) {
    if (n > rest_.size()) ok_ = false;
    if (!ok_) return {};
    const auto taken = rest_.first(n);
    rest_ = rest_.subspan(n);
    return taken;
  }
  size_t whole_;
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace smalti
