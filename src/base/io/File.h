// Whole files in and out: bounded, and written atomically.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "smalti/diagnostic.h"

namespace smalti {

/// Larger than any sensible module or JSON file.
inline constexpr int64_t kMaxTextFileBytes = int64_t{1} << 30;

/// The whole file, or all that comes through a pipe. SM1001 when it cannot be read (devices are not, and pipes that are
/// silent for a minute, or that has no writer), SM1015 when it is larger than `maxBytes`.
Result<std::string> readFile(const std::string& path, int64_t maxBytes = kMaxTextFileBytes);

struct FileHead {
  std::string bytes;  ///< the first of the file, as many as were asked for or there are
  int64_t size = 0;   ///< of the whole file, bytes
};
/// The beginning of a regular file. SM1001.
Result<FileHead> readHead(const std::string& path, int64_t bytes);

/// Writes a temporary file `path.NUMBERS.tmp` and renames it: `path` holds all of `parts` or what it held before. 0 or
/// errno, and then nothing is left behind.
int replaceFile(const std::string& path, std::initializer_list<std::string_view> parts, unsigned mode = 0666);
/// The same, except that a device or a pipe is written to. SM1006.
Status writeFile(const std::string& path, std::initializer_list<std::string_view> parts);

/// Makes the folder and those above it. SM1006.
Status makeFolder(const std::string& path);

/// Renames a file or a folder. SM1006.
Status renameFile(const std::string& path, const std::string& as);

}  // namespace smalti
