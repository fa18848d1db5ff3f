// Why there is no native code.
#pragma once

#include <string>
#include <utility>

#include "smalti/diagnostic.h"

namespace smalti::cpu {

/// Why a kernel runs on the machine instead, and which op is to blame, where it is a single one.
struct Unsupported {
  Unsupported() = default;
  // Implicit: whoever finds out has a sentence, the op and its place are added further up.
  Unsupported(std::string why) : reason(std::move(why)) {}
  Unsupported(const char* why) : reason(why) {}

  std::string reason;   ///< "it signals other devices"
  std::string op{};     ///< "tpu.sem_signal"
  SourcePlace place{};  ///< of the op in the user's source
  bool empty() const { return reason.empty(); }
};

}  // namespace smalti::cpu
