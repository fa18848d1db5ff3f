// Writing to an open file.
#pragma once

#include <string_view>

namespace smalti {

/// Writes all bytes to the file, also if signals interrupt it. False: it failed; `errno` says why.
bool writeAll(int fd, std::string_view bytes);

}  // namespace smalti
