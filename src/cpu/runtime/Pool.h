// Threads that wait for work: they spin for a moment, then sleep.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

namespace smalti::cpu {

/// A function that is called while the caller's still exists: two words, nothing owned.
template <class>
class FunctionRef;
template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>>>
  FunctionRef(F&& f)  // NOLINT: implicit, as an argument
      : object_(const_cast<void*>(static_cast<const void*>(&f))), call_([](void* object, A... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<A>(args)...);
        }) {}
  R operator()(A... args) const { return call_(object_, std::forward<A>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

/// Cores that this thread may run on, within what its container grants; at least 1. A system call.
int availableCores();

/// Calls `body(first, last, worker)` for ranges that together are [0, points), on up to `threads` threads with the
/// caller among them (0: one per available core); returns when all have returned. Who is free takes the next range from
/// the end of what is left, a share of it: the last ranges are single points, so that nobody waits long for another, or
/// for one that woke late or was disturbed. A worker, from 0 (the caller) to threads - 1, runs one range at a time.
/// What ran before the call is visible to every range, what they wrote is visible to the caller. On the caller alone,
/// all in one range, as worker 0: inside a range, and while another thread of the user has the pool. `body` does not
/// throw.
void parallelFor(int64_t points, int threads, FunctionRef<void(int64_t first, int64_t last, int worker)> body);

}  // namespace smalti::cpu
