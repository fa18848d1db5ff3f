#include "driver/cli/Output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fmt/format.h>

#include "base/io/File.h"

namespace smalti::cli {

void holdStandardDescriptors() {
  // Each is opened in the unused direction: open() returns the lowest free descriptor, the one that was closed.
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      (void)::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
}

void Output::write(std::string_view text) {
  if (toFile())
    text_ += text;
  else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && error_ == 0)
    error_ = errno;
}

void Output::flush() {
  if (std::fflush(stdout) != 0 && error_ == 0) error_ = errno;
}

Status Output::finish(bool writeEmptyFile) {
  if (toFile()) {
    if (text_.empty() && !writeEmptyFile) return {};
    return writeFile(file, {text_});
  }
  flush();
  if (error_ == 0 && std::ferror(stdout)) error_ = EIO;  // a library has flushed it
  if (error_ == 0) return {};
  return fail({.code = "SM1006",
               .message = fmt::format("cannot write to standard output: {}", std::generic_category().message(error_)),
               .place = {},
               .help = "write to a file: -o FILE"});
}

}  // namespace smalti::cli
