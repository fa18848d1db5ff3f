// Working memory of the evaluators: one grow-only block per thread and purpose, so that steady state allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "base/process/ThreadLasting.h"

namespace smalti::eval {

/// A grow-only block. Contents are lost when it grows.
class Scratch {
 public:
  /// At least `n` elements of T, aligned to a cache line; valid until the next call.
  template <class T>
  T* get(int64_t n) {
    return static_cast<T*>(bytes(n * static_cast<int64_t>(sizeof(T))));
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, kAlignment); }
  };
  void* bytes(int64_t n) {
    if (n > capacity_) {
      block_.reset();
      capacity_ = n + n / 4 + 64;
      block_.reset(static_cast<std::byte*>(::operator new(capacity_, kAlignment)));
    }
    return block_.get();
  }
  std::unique_ptr<std::byte, Free> block_;
  int64_t capacity_ = 0;
};

/// That of a thread, to be declared `static thread_local constinit`.
class ThreadScratch {
 public:
  template <class T>
  T* get(int64_t n) {
    return scratch_.get().get<T>(n);
  }
  operator Scratch&() { return scratch_.get(); }

 private:
  ThreadLasting<Scratch> scratch_;
};

}  // namespace smalti::eval
