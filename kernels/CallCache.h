// One PallasCall per signature and options, so that calling a kernel's function again neither traces nor compiles.
#pragma once

#include <initializer_list>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "smalti/pallas_call.h"

namespace smalti::kernels {

/// A key that distinguishes calls: types and options in a fixed order.
class Key {
 public:
  Key& operator<<(const ArrayType& t) { return *this << t.str(); }
  Key& operator<<(DType t) { return *this << std::string(name(t)); }
  template <class T>
  Key& operator<<(const T& value) {
    text_ << value << ';';
    return *this;
  }
  std::string str() const { return text_.str(); }

 private:
  std::ostringstream text_;
};

/// Values by key; to be declared `static constinit`, so that nothing of it is made at the first call, whose lock a
/// child that is forked meanwhile would inherit. Its values are never destroyed: destructors of static objects may
/// call.
template <class T>
class CacheOf {
 public:
  /// The value under `key`, made if it is new. An empty key: made every time.
  template <class Make>
  T get(const std::string& key, Make&& make) {
    if (key.empty()) return make();
    const std::unique_lock lock = tryLock();
    if (!lock) return make();
    if (!values_) values_ = new std::map<std::string, T>;
    auto found = values_->find(key);
    if (found == values_->end()) {
      if (values_->size() >= kMax) values_->clear();  // bounds the memory used by shapes that never recur
      found = values_->emplace(key, make()).first;
    }
    return found->second;
  }

 private:
  /// Gives up after a while: in a child forked while another thread held the lock, it is never released.
  std::unique_lock<std::mutex> tryLock() {
    constexpr int kMaxTries = 1000;
    std::unique_lock lock(mutex_, std::try_to_lock);
    for (int tries = 0; !lock && tries < kMaxTries; ++tries) {
      std::this_thread::yield();
      static_cast<void>(lock.try_lock());
    }
    return lock;
  }

  static constexpr size_t kMax = 256;
  std::mutex mutex_;
  std::map<std::string, T>* values_ = nullptr;
};
using CallCache = CacheOf<PallasCall>;

}  // namespace smalti::kernels
