#include "base/File.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
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

Status writeFile(const std::string& path, std::initializer_list<std::string_view> parts) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  int error = 0;
  {
    Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
    if (file.fd < 0) return cannotWrite(path, errno);
    for (std::string_view part : parts)
      if (!error && !writeAll(file.fd, part)) error = errno;
    const int fd = file.fd;
    file.fd = -1;
    if (::close(fd) != 0 && !error) error = errno;
  }
  if (!error && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (!error) return {};
  ::unlink(temporary.c_str());
  return cannotWrite(path, error);
}

Status makeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return cannotWrite(path, error.value());
  return {};
}

}  // namespace smalti
