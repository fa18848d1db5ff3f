#include "driver/term/Progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "driver/term/Style.h"

namespace smalti::term {
namespace {

constexpr double kSilentSeconds = 2;
constexpr double kSecondsBetween = 0.1;

int terminalWidth() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

Progress::Progress() : start_(std::chrono::steady_clock::now()), last_(start_), terminal_(::isatty(STDERR_FILENO)) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::update(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || seconds() < kSilentSeconds) return;
  if (shown_ && std::chrono::duration<double>(now - last_).count() < kSecondsBetween) return;
  last_ = now;
  shown_ = true;
  const std::string line = text.substr(0, static_cast<size_t>(terminalWidth() - 1));
  std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
  std::fflush(stderr);
}

struct Ticker::State {
  std::mutex mutex;
  std::condition_variable wake;
  bool done = false;
  std::thread thread;
};

Ticker::Ticker(std::string what) : state_(nullptr) {
  if (!::isatty(STDERR_FILENO)) return;
  state_ = new State;
  state_->thread = std::thread([state = state_, what = std::move(what)] {
    Progress progress;
    std::unique_lock lock(state->mutex);
    while (!state->wake.wait_for(lock, std::chrono::milliseconds(200), [&] { return state->done; }))
      progress.update(fmt::format("{}… {:.0f} s", what, progress.seconds()));
  });
}

Ticker::~Ticker() {
  if (!state_) return;
  {
    std::lock_guard lock(state_->mutex);
    state_->done = true;
  }
  state_->wake.notify_all();
  state_->thread.join();
  delete state_;
}

}  // namespace smalti::term
