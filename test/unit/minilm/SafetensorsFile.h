// Safetensors files made in memory.
#pragma once

#include <string>

namespace smalti::minilm {

/// The bytes of a file with this header text and this much data.
inline std::string safetensorsFile(const std::string& header, size_t dataBytes) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(header.size() >> (8 * i) & 0xFF));
  bytes += header;
  for (size_t i = 0; i < dataBytes; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

}  // namespace smalti::minilm
