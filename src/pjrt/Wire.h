// Protocol buffers' wire format: the few messages that PJRT takes and gives as bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smalti::pjrt::wire {

/// A field with a number in it.
std::string field(int number, uint64_t value);
/// A field with text, bytes or another message in it.
std::string field(int number, std::string_view bytes);

/// The next number of a packed list.
std::string packed(uint64_t value);

struct Field {
  int number = 0;
  uint64_t value = 0;      ///< of a number
  std::string_view bytes;  ///< of everything with a length
};

/// Reads the fields of a message one after the other; bytes that are not message end it early.
class Reader {
 public:
  explicit Reader(std::string_view message) : rest_(message) {}
  std::optional<Field> next();
  /// The next number of a packed list.
  std::optional<uint64_t> varint();

 private:
  std::string_view rest_;
};

}  // namespace smalti::pjrt::wire
