// Data of a thread that destructors may use.
#pragma once

#include <utility>

namespace smalti {

/// `free(data)` is called when this thread ends: after the destructors of its objects that may call Smalti
/// (ir/Lifetime.h), or, in a thread that has used ops of arrays alone, at the end of its thread_local objects. What is
/// handed over later is never freed.
void freeAtThreadEnd(void (*free)(void*), void* data);
/// From now on what is handed over is freed after thread_local objects that are made later.
void ownThreadData();
/// Frees it all now.
void freeThreadData();

/// A value of each thread, made at its first use. It may be used until the thread is gone, for example by destructors
/// of static objects, for which it is made again. To be declared `thread_local constinit`.
template <class T>
class ThreadLasting {
 public:
  template <class Make>
  T& get(Make&& make) {
    if (value_) return *value_;
    value_ = new T(std::forward<Make>(make)());
    freeAtThreadEnd([](void* self) { delete std::exchange(static_cast<ThreadLasting*>(self)->value_, nullptr); }, this);
    return *value_;
  }
  /// The value that its default constructor makes.
  T& get() {
    return get([] { return T(); });
  }

 private:
  T* value_ = nullptr;
};

}  // namespace smalti
