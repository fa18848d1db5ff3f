// The reason why a kernel has no native code.
#pragma once

#include <string>
#include <utility>

#include "smalti/diagnostic.h"

namespace smalti::cpu {

/// The reason why a kernel runs on the machine instead, and the op without native code if a single op is the reason.
struct Unsupported {
  Unsupported() = default;
  // Implicit: most functions return only a sentence; callers add the op and its place.
  Unsupported(std::string why) : reason(std::move(why)) {}
  Unsupported(const char* why) : reason(why) {}

  std::string reason;   ///< "it signals other devices"
  std::string op{};     ///< "tpu.sem_signal"
  SourcePlace place{};  ///< of the op in the user's source
  bool empty() const { return reason.empty(); }
};

}  // namespace smalti::cpu
