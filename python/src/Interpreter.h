// The interpreter's lock, given back and taken.
#pragma once

#include <nanobind/nanobind.h>

namespace smalti::python {

[[noreturn]] void waitForProcessEnd();

/// `take()` takes the interpreter's lock. While the interpreter ends, Python gives it to no daemon thread but ends that
/// thread by unwinding its stack, which no destructor allows: the process would be aborted. Here the thread waits until
/// the process is gone, as in Python 3.14.
template <class Take>
auto takeLock(Take&& take) noexcept -> decltype(take()) {
  try {
    return take();
  } catch (...) {  // the unwinding; nothing else leaves it
    waitForProcessEnd();
  }
}

/// While it exists, the thread runs without the interpreter's lock.
class Unlocked {
 public:
  Unlocked() : thread_(PyEval_SaveThread()) {}
  ~Unlocked() {
    takeLock([&] { PyEval_RestoreThread(thread_); });
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* const thread_;
};

/// While it exists, a thread of any origin has the interpreter's lock.
class Locked {
 public:
  Locked() : state_(takeLock([] { return PyGILState_Ensure(); })) {}
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  const PyGILState_STATE state_;
};

}  // namespace smalti::python
