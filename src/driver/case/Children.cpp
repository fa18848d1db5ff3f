#include "driver/case/Children.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/io/WriteAll.h"

namespace smalti::driver {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxOutputBytes = 64 << 20;
constexpr int kPollMilliseconds = 100;

struct Child {
  int64_t index = 0;  ///< of the piece of work that it does
  int64_t begun = 0;  ///< pieces so far
  pid_t pid = -1;
  int orders = -1;         ///< indices of further pieces, to the child
  int pipe = -1;           ///< its outputs, each after its size
  int standardError = -1;  ///< a file in memory
  Clock::time_point start;
  std::string received;
};

/// Address space in use, bytes.
int64_t addressSpaceBytes() {
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * ::sysconf(_SC_PAGESIZE);
}

void setLimit(int resource, rlim_t value) {
  const rlimit limit{value, value};
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

[[noreturn]] void runChild(int64_t index, int orders, int output, int standardError, const ChildLimits& limits,
                           const std::function<std::string(int64_t)>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  setLimit(RLIMIT_CORE, 0);
  if (limits.addressSpaceMib > 0)
    setLimit(RLIMIT_AS, static_cast<rlim_t>(addressSpaceBytes() + (limits.addressSpaceMib << 20)));
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  if (standardError >= 0) ::dup2(standardError, STDERR_FILENO);
  for (;;) {
    const std::string text = work(index);
    const uint64_t size = text.size();
    if (!writeAll(output, {reinterpret_cast<const char*>(&size), sizeof size}) || !writeAll(output, text)) ::_exit(1);
    ssize_t n = 0;
    do {
      n = ::read(orders, &index, sizeof index);
    } while (n < 0 && errno == EINTR);
    if (n != sizeof index) ::_exit(0);
  }
}

bool start(Child& child, const ChildLimits& limits, const std::function<std::string(int64_t)>& work) {
  int outputs[2], orders[2];
  if (::pipe2(outputs, O_CLOEXEC) != 0) return false;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, orders) != 0) {
    ::close(outputs[0]);
    ::close(outputs[1]);
    return false;
  }
  child.standardError = ::memfd_create("stderr", MFD_CLOEXEC);
  std::fflush(nullptr);
  child.begun = 1;
  child.start = Clock::now();
  child.pid = ::fork();
  if (child.pid == 0) {
    ::close(outputs[0]);
    ::close(orders[1]);
    runChild(child.index, orders[0], outputs[1], child.standardError, limits, work);
  }
  ::close(outputs[1]);
  ::close(orders[0]);
  child.pipe = outputs[0];
  child.orders = orders[1];
  return child.pid > 0;
}

/// The last lines of what it wrote to standard error.
std::string lastWords(int fd, int64_t shownBytes) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  if (size <= 0) return "";
  std::string text(static_cast<size_t>(std::min<off_t>(size, shownBytes)), '\0');
  const ssize_t n = ::pread(fd, text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

/// Ends a child that has finished its piece or is late, or waits for one that is ending. What went wrong goes to
/// `result`.
void finish(Child& child, const ChildLimits& limits, ChildResult& result) {
  if (result.finished || result.timedOut) ::kill(child.pid, SIGKILL);  // it waits for orders, or is blocked forever
  ::close(child.orders);
  ::close(child.pipe);  // otherwise a child with too much output would block on the pipe
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (child.standardError >= 0) result.standardError = lastWords(child.standardError, limits.errorBytes);
  if (child.standardError >= 0) ::close(child.standardError);
}

/// Reads the available output; false if the child has closed its end or exceeds the limit.
bool drain(Child& child) {
  char buffer[1 << 16];
  const ssize_t n = ::read(child.pipe, buffer, sizeof buffer);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  child.received.append(buffer, static_cast<size_t>(n));
  return n > 0 && child.received.size() <= kMaxOutputBytes;
}

/// The whole output of its piece, once it is there.
bool takeOutput(Child& child, std::string& output) {
  uint64_t size = 0;
  if (child.received.size() < sizeof size) return false;
  std::memcpy(&size, child.received.data(), sizeof size);
  if (child.received.size() - sizeof size < size) return false;
  output = child.received.substr(sizeof size, size);
  child.received.clear();  // nothing follows before the next order
  return true;
}

/// Gives another piece to a child that has finished one.
bool order(Child& child, int64_t index) {
  child.index = index;
  ++child.begun;
  child.start = Clock::now();
  return ::send(child.orders, &index, sizeof index, MSG_NOSIGNAL) == sizeof index;
}

}  // namespace

void runInChildren(int64_t count, const ChildLimits& limits, const std::function<std::string(int64_t)>& work,
                   const std::function<void(int64_t, const ChildResult&)>& done, const std::function<void()>& tick) {
  std::vector<Child> running;
  int64_t next = 0;
  const auto more = [&] { return next < count && !(limits.stop && *limits.stop); };
  while (more() || !running.empty()) {
    while (more() && static_cast<int64_t>(running.size()) < limits.atOnce) {
      Child child;
      child.index = next++;
      if (start(child, limits, work))
        running.push_back(std::move(child));
      else
        done(child.index, {});
    }
    std::vector<pollfd> polls;
    for (const Child& child : running) polls.push_back({child.pipe, POLLIN, 0});
    ::poll(polls.data(), polls.size(), kPollMilliseconds);
    for (size_t i = running.size(); i-- > 0;) {
      Child& child = running[i];
      ChildResult result;
      const bool ended = (polls[i].revents != 0) && !drain(child);
      result.finished = takeOutput(child, result.output);
      result.seconds = std::chrono::duration<double>(Clock::now() - child.start).count();
      result.timedOut = !result.finished && !ended && result.seconds > limits.seconds;
      if (!ended && !result.finished && !result.timedOut) continue;
      const int64_t index = child.index;
      if (result.finished && child.begun < limits.piecesEach && more() && order(child, next)) {
        ++next;
      } else {
        ChildResult end = result;
        finish(child, limits, end);
        if (!result.finished) result = std::move(end);
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      }
      done(index, result);
    }
    tick();
  }
}

int64_t numProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int n = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::max(n, 1);
}

}  // namespace smalti::driver
