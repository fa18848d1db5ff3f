// Data that is made at its first use and kept until the process is gone.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace smalti {

/// A value that is made at its first use and never destroyed, since destructors of static objects, and threads that
/// still run while the process ends, may use it. Unlike a static object of a function it has no lock, which a child
/// that is forked meanwhile would inherit: if several threads make it at once, the value of one of them stays. To be
/// declared `static constinit`.
template <class T>
class Lasting {
 public:
  template <class Make>
  T& get(Make&& make) {
    if (T* const ready = value_.load(std::memory_order_acquire)) return *ready;
    std::unique_ptr<T> made(new T(std::forward<Make>(make)()));
    T* first = nullptr;
    return value_.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel) ? *made.release() : *first;
  }
  /// The value that its default constructor makes.
  T& get() {
    return get([] { return T(); });
  }

 private:
  std::atomic<T*> value_{nullptr};
};

}  // namespace smalti
