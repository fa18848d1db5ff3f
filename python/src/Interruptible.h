// Work that Ctrl-C ends.
#pragma once

#include <atomic>
#include <chrono>
#include <future>

#include <nanobind/nanobind.h>

#include "Interpreter.h"

namespace smalti::python {

/// Whether the calling thread is the one on which Python runs signal handlers, the process's first thread.
bool isMainThread();

/// Whether Ctrl-C raises KeyboardInterrupt, or has no handler of Python, and no other signal that interrupts work
/// (SIGALRM, SIGTERM, …) has one. Called with the interpreter's lock.
bool onlyCtrlCInterrupts();

/// While it exists, Ctrl-C sets `stop()`, and what handled it before is called, too; not where it has no handler. For
/// the main thread, one at a time.
class StopOnCtrlC {
 public:
  StopOnCtrlC();
  ~StopOnCtrlC();
  StopOnCtrlC(const StopOnCtrlC&) = delete;
  StopOnCtrlC& operator=(const StopOnCtrlC&) = delete;
  const std::atomic<bool>& stop() const;

 private:
  const bool installed_;
};

/// What `work(stop)` gives, which runs on a thread of its own while this one runs Python's signal handlers; `stop`
/// becomes true when one raised.
template <class Work>
auto besideHandlers(Work&& work) {
  std::atomic<bool> stop{false};
  auto done = std::async(std::launch::async, [&] { return work(stop); });
  while (true) {
    {
      const Unlocked unlocked;
      if (done.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready) break;
    }
    if (PyErr_CheckSignals() == 0) continue;
    stop = true;
    {
      const Unlocked unlocked;
      done.wait();
    }
    throw nanobind::python_error();
  }
  return done.get();
}

/// What `work(stop)` gives, without the interpreter's lock; `stop` becomes true when a signal's handler raises, and the
/// exception leaves when the work has ended. Python runs handlers on its main thread, so work on others is not
/// interrupted. A thread of its own for each call would take longer than a small kernel, and is made only for handlers
/// of the user.
template <class Work>
auto interruptible(Work&& work) {
  if (!isMainThread()) {
    const Unlocked unlocked;
    const std::atomic<bool> never{false};
    return work(never);
  }
  if (!onlyCtrlCInterrupts()) return besideHandlers(work);
  const StopOnCtrlC onCtrlC;
  auto result = [&] {
    const Unlocked unlocked;
    return work(onCtrlC.stop());
  }();
  if (onCtrlC.stop() && PyErr_CheckSignals() != 0) throw nanobind::python_error();
  return result;
}

}  // namespace smalti::python
