#include "base/io/File.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

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

tl::unexpected<Diagnostic> tooLarge(const std::string& path, int64_t maxBytes) {
  return fail({.code = "SM1015",
               .message = fmt::format("'{}' is too large", path),
               .place = {},
               .need = fmt::format("at most {} bytes", maxBytes)});
}

// How long a pipe may be silent: while another process has it open (exporting a module takes JAX some seconds), and
// while none has.
constexpr int kSilenceSeconds = 60, kNobodySeconds = 2;

/// False when nothing arrived or could be written (`events`) for that long, or no writer is left.
bool waitForPipe(int fd, short events, int seconds) {
  pollfd waiting{fd, events, 0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (::poll(&waiting, 1, static_cast<int>(left.count())) > 0) return true;
  }
}

/// Opens a file or pipe without blocking; refuses endless devices.
Result<struct stat> openToRead(const std::string& path, Descriptor& file) {
  file.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  if (file.fd < 0 || ::fstat(file.fd, &status) != 0) return cannotRead(path, errnoText(errno));
  if (S_ISDIR(status.st_mode)) return cannotRead(path, "it is a folder");
  const bool isNull = S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
  if (isNull) status.st_mode = S_IFREG;
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) return cannotRead(path, "it is neither a file nor a pipe");
  return status;
}

/// Writes and closes; 0 or errno.
int writeAndClose(int fd, std::initializer_list<std::string_view> parts) {
  int error = 0;
  for (std::string_view bytes : parts)
    while (!error && !bytes.empty()) {
      const ssize_t n = ::write(fd, bytes.data(), bytes.size());
      const int why = n < 0 ? errno : ENOSPC;
      if (n < 0 && (why == EINTR || (why == EAGAIN && waitForPipe(fd, POLLOUT, kSilenceSeconds)))) continue;
      if (n <= 0) error = why == EAGAIN ? ETIMEDOUT : why;
      bytes.remove_prefix(static_cast<size_t>(std::max<ssize_t>(n, 0)));
    }
  if (::close(fd) != 0 && !error) error = errno;
  return error;
}

/// Opens a pipe without blocking; -1 and ENXIO when no process opens it to read.
int openPipe(const std::string& path) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kNobodySeconds);
  while (true) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 || errno != ENXIO || std::chrono::steady_clock::now() > end) return fd;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// The type of what is there, if anything is: a bit of `st_mode`.
mode_t typeAt(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & S_IFMT : 0;
}

}  // namespace

Result<std::string> readFile(const std::string& path, int64_t maxBytes) {
  Descriptor file;
  const auto status = openToRead(path, file);
  if (!status) return fail(status.error());
  if (status->st_size > maxBytes) return tooLarge(path, maxBytes);
  constexpr size_t kPipeBytes = 1 << 16;  // what a pipe of Linux holds
  const auto expected = static_cast<size_t>(status->st_size);
  std::string text;
  bool hasWriter = S_ISREG(status->st_mode);  // of a pipe: seen
  while (true) {
    const size_t before = text.size();
    const size_t room = before < expected ? expected - before + 1 : kPipeBytes;
    text.resize(before + room);
    const ssize_t n = ::read(file.fd, text.data() + before, room);
    const int error = n < 0 ? errno : 0;
    text.resize(before + (n > 0 ? static_cast<size_t>(n) : 0));
    if (n == 0 && hasWriter) return text;
    if (n < 0 && error != EINTR && error != EAGAIN) return cannotRead(path, errnoText(error));
    if (static_cast<int64_t>(text.size()) > maxBytes) return tooLarge(path, maxBytes);
    hasWriter = hasWriter || n > 0 || error == EAGAIN;
    if (n > 0 || error == EINTR) continue;
    const int seconds = hasWriter ? kSilenceSeconds : kNobodySeconds;
    if (!waitForPipe(file.fd, POLLIN, seconds))
      return cannotRead(path, fmt::format("nothing came through this pipe for {} s", seconds));
    hasWriter = true;
  }
}

Result<FileHead> readHead(const std::string& path, int64_t bytes) {
  Descriptor file;
  const auto status = openToRead(path, file);
  if (!status) return fail(status.error());
  if (!S_ISREG(status->st_mode)) return cannotRead(path, "it is not a regular file");
  FileHead head{std::string(static_cast<size_t>(std::min<int64_t>(bytes, status->st_size)), '\0'), status->st_size};
  for (size_t at = 0; at < head.bytes.size();) {
    const ssize_t n = ::pread(file.fd, head.bytes.data() + at, head.bytes.size() - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return cannotRead(path, n < 0 ? errnoText(errno) : "it became shorter");
    at += static_cast<size_t>(n);
  }
  return head;
}

int replaceFile(const std::string& path, std::initializer_list<std::string_view> parts, unsigned mode) {
  static std::atomic<uint64_t> serial{0};
  const std::string temporary = fmt::format("{}.{}.{}.tmp", path, ::getpid(), ++serial);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return errno;
  int error = writeAndClose(fd, parts);
  if (!error && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error) ::unlink(temporary.c_str());
  return error;
}

Status writeFile(const std::string& path, std::initializer_list<std::string_view> parts) {
  int error = 0;
  const mode_t type = typeAt(path);
  if (type != 0 && type != S_IFREG && type != S_IFDIR) {  // a device or a pipe: there is nothing to replace
    const int fd = type == S_IFIFO ? openPipe(path) : ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENXIO && type == S_IFIFO)
      return fail({.code = "SM1006",
                   .message = fmt::format("cannot write '{}': no process reads this pipe", path),
                   .place = {},
                   .need = fmt::format("a reader within {} s", kNobodySeconds),
                   .help = "start the process that reads it first, or write to a file"});
    error = fd < 0 ? errno : writeAndClose(fd, parts);
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

Status renameFile(const std::string& path, const std::string& as) {
  if (::rename(path.c_str(), as.c_str()) != 0) return cannotWrite(as, errno);
  return {};
}

}  // namespace smalti
