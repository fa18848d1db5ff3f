// One PallasCall per signature and options, so that calling a kernel's function again neither traces nor compiles.
#pragma once

#include <initializer_list>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

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

class CallCache {
 public:
  /// The call under `key`, made if it is new. An empty key: made every time.
  template <class Make>
  PallasCall get(const std::string& key, Make&& make) {
    if (key.empty()) return make();
    const std::lock_guard lock(mutex_);
    auto found = calls_.find(key);
    if (found == calls_.end()) {
      if (calls_.size() >= kMax) calls_.clear();  // bounds the memory used by shapes that never recur
      found = calls_.emplace(key, make()).first;
    }
    return found->second;
  }

 private:
  static constexpr size_t kMax = 256;
  std::mutex mutex_;
  std::map<std::string, PallasCall> calls_;
};

}  // namespace smalti::kernels
