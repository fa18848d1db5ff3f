// Work that Ctrl-C ends.
#pragma once

#include <atomic>
#include <chrono>
#include <future>

#include <nanobind/nanobind.h>

namespace smalti::python {

/// What `work(stop)` gives. It runs on a thread of its own without the interpreter's lock, while this one looks for
/// signals, whose handlers Python runs on its main thread only; `stop` becomes true when one raised. The exception
/// leaves when the work has ended.
template <class Work>
auto interruptible(Work&& work) {
  std::atomic<bool> stop{false};
  auto done = std::async(std::launch::async, [&] { return work(stop); });
  while (true) {
    {
      const nanobind::gil_scoped_release unlocked;
      if (done.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready) break;
    }
    if (PyErr_CheckSignals() == 0) continue;
    stop = true;
    {
      const nanobind::gil_scoped_release unlocked;
      done.wait();
    }
    throw nanobind::python_error();
  }
  return done.get();
}

}  // namespace smalti::python
