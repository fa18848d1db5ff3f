#include "cpu/cache/EntryFile.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/io/File.h"

namespace smalti::cpu {

std::optional<std::string> readOwnFile(const std::string& path, int64_t mostBytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct stat status;
  std::optional<std::string> bytes;
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
      (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
    bytes.emplace(static_cast<size_t>(status.st_size > mostBytes ? 0 : status.st_size), '\0');
    size_t have = 0;
    while (have < bytes->size()) {
      const ssize_t n = ::read(fd, bytes->data() + have, bytes->size() - have);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      have += static_cast<size_t>(n);
    }
    bytes->resize(have);
  }
  ::close(fd);
  return bytes;
}

int writeOwnFile(const std::string& path, std::initializer_list<std::string_view> parts) {
  return replaceFile(path, parts, S_IRUSR | S_IWUSR);
}

int makeOwnFolder(const std::string& path) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(path, error);
  if (made) ::chmod(path.c_str(), S_IRWXU);
  return error.value();
}

void touchFile(const std::string& path) { ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW); }

}  // namespace smalti::cpu
