#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include "interop/bytecode/Format.h"

namespace smalti::interop::bytecode {

/// Bytes being written, with the container's integers.
class ByteWriter {
 public:
  void byte(uint8_t b) { bytes_.push_back(static_cast<char>(b)); }
  void append(std::string_view s) { bytes_.append(s); }
  void varint(uint64_t v) {
    int length = 1;
    while (length < 9 && v >> (7 * length) != 0) ++length;
    uint64_t coded = v;
    if (length == 9)
      byte(0);
    else
      coded = (v << 1 | 1) << (length - 1);
    for (int i = 0; i < (length == 9 ? 8 : length); ++i) byte(static_cast<uint8_t>(coded >> (8 * i)));
  }
  void varintWithFlag(uint64_t v, bool flag) { varint(v << 1 | (flag ? 1 : 0)); }
  void section(Section id, const ByteWriter& content) {
    byte(static_cast<uint8_t>(id));
    varint(content.size());
    append(content.bytes_);
  }
  size_t size() const { return bytes_.size(); }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

/// The string table: each string once, in the order they came.
class StringTable {
 public:
  uint64_t number(llvm::StringRef s) {
    auto [it, isNew] = numbers_.try_emplace(s, strings_.size());
    if (isNew) strings_.push_back(it->first());
    return it->second;
  }
  const std::vector<llvm::StringRef>& strings() const { return strings_; }

 private:
  llvm::StringMap<uint64_t> numbers_;
  std::vector<llvm::StringRef> strings_;
};

}  // namespace smalti::interop::bytecode
