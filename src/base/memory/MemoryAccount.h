// Tracks the memory that a run has allocated against its limit.
#pragma once

#include <cstdint>
#include <string_view>

#include "smalti/diagnostic.h"

namespace smalti {

class MemoryAccount {
 public:
  /// 0: no limit.
  explicit MemoryAccount(int64_t limitBytes) : limit_(limitBytes) {}
  /// SM9002 if this would exceed the limit.
  Status take(int64_t bytes, std::string_view what);
  void give(int64_t bytes) { used_ -= bytes; }
  int64_t used() const { return used_; }
  int64_t peak() const { return peak_; }

 private:
  int64_t limit_, used_ = 0, peak_ = 0;
};

}  // namespace smalti
