// Base64 as in RFC 4648, for kernel bodies inside JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smalti::interop {

/// nullopt when a character is outside the alphabet or the length is wrong.
std::optional<std::string> decodeBase64(std::string_view text);
std::string encodeBase64(std::string_view bytes);

}  // namespace smalti::interop
