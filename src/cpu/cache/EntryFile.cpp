#include "cpu/cache/EntryFile.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

namespace smalti::cpu {
namespace {

/// 0 or errno.
int writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : ENOSPC;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

}  // namespace

std::optional<std::string> readOwnFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct stat status;
  std::optional<std::string> bytes;
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
      (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
    bytes.emplace(static_cast<size_t>(status.st_size), '\0');
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
  static std::atomic<uint64_t> serial{0};
  const std::string temporary = fmt::format("{}.{}.{}.tmp", path, ::getpid(), ++serial);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return errno;
  int error = 0;
  for (std::string_view part : parts)
    if (!error) error = writeAll(fd, part);
  if (::close(fd) != 0 && !error) error = errno;
  if (!error && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error) ::unlink(temporary.c_str());
  return error;
}

int makeOwnFolder(const std::string& path) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(path, error);
  if (made) ::chmod(path.c_str(), S_IRWXU);
  return error.value();
}

void touchFile(const std::string& path) { ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW); }

}  // namespace smalti::cpu
