// The reason why a kernel has no native code.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <tl/expected.hpp>

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
  /// "it signals other devices (tpu.sem_signal, kernel.py:12:3)".
  std::string text() const {
    std::string where = op;
    if (place.known()) where += (where.empty() ? "" : ", ") + place.str();
    return where.empty() ? reason : reason + " (" + where + ")";
  }
};

/// A compiled kernel; null: there is no native code, for that reason.
template <class Kernel>
struct Compiled {
  std::shared_ptr<const Kernel> kernel;
  Unsupported why;
};

/// Success, or the reason why there is no native code.
using NativeResult = tl::expected<void, Unsupported>;
inline tl::unexpected<Unsupported> unsupported(std::string why) { return tl::unexpected<Unsupported>(std::move(why)); }

}  // namespace smalti::cpu
