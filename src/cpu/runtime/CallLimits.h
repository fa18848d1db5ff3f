// The limits of a call that a kernel checks while it runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace smalti::cpu {

/// The limits that a thread of a call checks in its loops (emit/IterationLimit.h): the first part of the function's
/// `context`.
struct CallLimits {
  int64_t iterationsLeft = INT64_MAX;  ///< remaining loop iterations; negative: the limit is exceeded
  const std::atomic<bool>* stop = nullptr;
};
static_assert(sizeof(std::atomic<bool>) == 1 && std::atomic<bool>::is_always_lock_free, "generated code reads a byte");
static_assert(offsetof(CallLimits, stop) == sizeof(int64_t));

}  // namespace smalti::cpu
