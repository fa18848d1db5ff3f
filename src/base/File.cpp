#include "base/File.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace smalti {
namespace {

std::string errnoText(int error) { return std::generic_category().message(error); }

/// A descriptor that closes itself.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

tl::unexpected<Diagnostic> cannotRead(const std::string& path, const std::string& why) {
  return fail({.code = "SM1001", .message = fmt::format("cannot read '{}': {}", path, why), .place = {}});
}

tl::unexpected<Diagnostic> cannotWrite(const std::string& path, int error) {
  return fail({.code = "SM1006",
               .message = fmt::format("cannot write '{}': {}", path, errnoText(error)),
               .place = {},
               .help = error == ENOSPC || error == EDQUOT ? "make room on the disk, or write elsewhere"
                                                          : "write to a folder that exists and that you may write to"});
}

/// Writes and closes; 0 or errno.
int writeAll(int fd, std::initializer_list<std::string_view> parts) {
  int error = 0;
  for (std::string_view bytes : parts)
    while (!error && !bytes.empty()) {
      const ssize_t n = ::write(fd, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) error = n < 0 ? errno : ENOSPC;
      bytes.remove_prefix(static_cast<size_t>(std::max<ssize_t>(n, 0)));
    }
  if (::close(fd) != 0 && !error) error = errno;
  return error;
}

/// A device or a pipe: there is nothing to replace.
bool isSink(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

}  // namespace

Result<std::string> readFile(const std::string& path, int64_t maxBytes) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat status;
  if (file.fd < 0 || ::fstat(file.fd, &status) != 0) return cannotRead(path, errnoText(errno));
  if (S_ISDIR(status.st_mode)) return cannotRead(path, "it is a folder");
  constexpr size_t kChunkBytes = 1 << 20;
  std::string text;
  text.reserve(static_cast<size_t>(std::min<int64_t>(status.st_size, maxBytes)) + 1);
  while (true) {
    const size_t before = text.size();
    text.resize(before + kChunkBytes);
    const ssize_t n = ::read(file.fd, text.data() + before, kChunkBytes);
    const int error = errno;
    text.resize(before + (n > 0 ? static_cast<size_t>(n) : 0));
    if (n == 0) return text;
    if (n < 0 && error != EINTR) return cannotRead(path, errnoText(error));
    if (static_cast<int64_t>(text.size()) > maxBytes)
      return fail({.code = "SM1015",
                   .message = fmt::format("'{}' is too large", path),
                   .place = {},
                   .need = fmt::format("at most {} bytes", maxBytes)});
  }
}

int replaceFile(const std::string& path, std::initializer_list<std::string_view> parts, unsigned mode) {
  static std::atomic<uint64_t> serial{0};
  const std::string temporary = fmt::format("{}.{}.{}.tmp", path, ::getpid(), ++serial);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return errno;
  int error = writeAll(fd, parts);
  if (!error && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error) ::unlink(temporary.c_str());
  return error;
}

Status writeFile(const std::string& path, std::initializer_list<std::string_view> parts) {
  int error = 0;
  if (isSink(path)) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    error = fd < 0 ? errno : writeAll(fd, parts);
  } else {
    error = replaceFile(path, parts);
  }
  if (error) return cannotWrite(path, error);
  return {};
}

Status makeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return cannotWrite(path, error.value());
  return {};
}

}  // namespace smalti
