// Objects whose destruction may take long, as Python owns them.
#pragma once

#include <optional>
#include <utility>

#include "Interpreter.h"

namespace smalti::python {

/// Destroys its value without the interpreter's lock: releasing memory of a GPU waits for the work on it, which may be
/// a host function that waits for the lock.
template <class T>
class WithoutLock {
 public:
  explicit WithoutLock(T value) : value_(std::move(value)) {}
  WithoutLock(WithoutLock&& other) noexcept : value_(std::exchange(other.value_, std::nullopt)) {}
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;
  ~WithoutLock() {
    if (!value_) return;
    const Unlocked unlocked;
    value_.reset();
  }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
};

/// The outcome of work that may wait for a GPU, done without the interpreter's lock.
template <class Work>
auto unlocked(Work&& work) {
  const Unlocked lockIsFree;
  return work();
}

}  // namespace smalti::python
