// The header of a .npy file: what the elements are and where they begin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "smalti/array.h"
#include "smalti/diagnostic.h"

namespace smalti::interop::npy {

/// Bytes of magic, version and the longest length field.
inline constexpr int64_t kPreludeBytes = 12;
inline constexpr int64_t kMaxHeaderBytes = 64 << 10;
inline constexpr int kMaxRank = 64;

/// The order of the elements in the file.
struct Stored {
  std::optional<DType> dtype;  ///< nullopt: raw bytes ('V')
  int bytes = 0;
  bool bigEndian = false;
  std::string descr;
};

struct Header {
  Stored stored;
  bool fortranOrder = false;
  Shape shape;
  int64_t dataOffset = 0;
  int64_t dataBytes = 0;
};

/// `prefix` holds the file's first bytes (kPreludeBytes + kMaxHeaderBytes, or all). SM1002, SM1003.
Result<Header> parseHeader(std::string_view prefix, const std::string& name);

}  // namespace smalti::interop::npy
