#include "driver/case/Children.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <vector>

namespace smalti::driver {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxOutputBytes = 64 << 20;
constexpr int kPollMilliseconds = 100;

struct Child {
  int64_t index = 0;
  pid_t pid = -1;
  int pipe = -1;           ///< its output
  int standardError = -1;  ///< a file in memory
  Clock::time_point start;
  ChildResult result;
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

[[noreturn]] void runChild(int64_t index, int output, int standardError, const ChildLimits& limits,
                           const std::function<std::string(int64_t)>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  setLimit(RLIMIT_CORE, 0);
  if (limits.addressSpaceMib > 0)
    setLimit(RLIMIT_AS, static_cast<rlim_t>(addressSpaceBytes() + (limits.addressSpaceMib << 20)));
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  if (standardError >= 0) ::dup2(standardError, STDERR_FILENO);
  const std::string text = work(index);
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(output, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(1);
    written += static_cast<size_t>(n);
  }
  ::_exit(0);
}

bool start(Child& child, const ChildLimits& limits, const std::function<std::string(int64_t)>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  child.standardError = ::memfd_create("stderr", MFD_CLOEXEC);
  std::fflush(nullptr);
  child.start = Clock::now();
  child.pid = ::fork();
  if (child.pid == 0) {
    ::close(ends[0]);
    runChild(child.index, ends[1], child.standardError, limits, work);
  }
  ::close(ends[1]);
  child.pipe = ends[0];
  return child.pid > 0;
}

/// The last few lines of what it wrote to standard error.
std::string lastWords(int fd) {
  constexpr off_t kShownBytes = 600;
  const off_t size = ::lseek(fd, 0, SEEK_END);
  if (size <= 0) return "";
  std::string text(static_cast<size_t>(std::min(size, kShownBytes)), '\0');
  const ssize_t n = ::pread(fd, text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

void finish(Child& child, bool timedOut) {
  if (timedOut) ::kill(child.pid, SIGKILL);
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  ChildResult& r = child.result;
  r.seconds = std::chrono::duration<double>(Clock::now() - child.start).count();
  r.timedOut = timedOut;
  r.finished = !timedOut && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (WIFSIGNALED(status)) r.signal = WTERMSIG(status);
  if (!r.finished && child.standardError >= 0) r.standardError = lastWords(child.standardError);
  ::close(child.pipe);
  if (child.standardError >= 0) ::close(child.standardError);
}

/// Reads what is there; false when the child has closed its end or says too much.
bool drain(Child& child) {
  char buffer[1 << 16];
  const ssize_t n = ::read(child.pipe, buffer, sizeof buffer);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0 || child.result.output.size() > kMaxOutputBytes) return false;
  child.result.output.append(buffer, static_cast<size_t>(n));
  return true;
}

}  // namespace

void runInChildren(int64_t count, const ChildLimits& limits, const std::function<std::string(int64_t)>& work,
                   const std::function<void(int64_t, const ChildResult&)>& done, const std::function<void()>& tick) {
  std::vector<Child> running;
  int64_t next = 0;
  while (next < count || !running.empty()) {
    while (next < count && static_cast<int64_t>(running.size()) < limits.atOnce) {
      Child child;
      child.index = next++;
      if (start(child, limits, work))
        running.push_back(std::move(child));
      else
        done(child.index, child.result);
    }
    std::vector<pollfd> polls;
    for (const Child& child : running) polls.push_back({child.pipe, POLLIN, 0});
    ::poll(polls.data(), polls.size(), kPollMilliseconds);
    for (size_t i = running.size(); i-- > 0;) {
      Child& child = running[i];
      const bool ended = (polls[i].revents != 0) && !drain(child);
      const bool late = std::chrono::duration<double>(Clock::now() - child.start).count() > limits.seconds;
      if (!ended && !late) continue;
      finish(child, !ended && late);
      done(child.index, child.result);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
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
