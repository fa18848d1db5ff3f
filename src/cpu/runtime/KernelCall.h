// What a generated kernel function receives in addition to its arrays, and what it returns.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace smalti::cpu {

/// How a call ended. After anything but `done` the results are not valid.
enum class KernelStatus : int32_t {
  done = 0,
  fault = 1,      ///< an access out of bounds, a wait that would block, or the like
  outside = 2,    ///< an index map gave a block that lies outside of its array
  stepLimit = 3,  ///< loops went round more often than the limit allows
  stopped = 4,    ///< the flag was raised
};

/// What a thread of a call looks at while its loops go round (lower/Rounds.h): the first part of what the function's
/// `context` points to.
struct CallLimits {
  int64_t roundsLeft = INT64_MAX;  ///< below 0: too many; counted down
  const std::atomic<bool>* stop = nullptr;
};
static_assert(sizeof(std::atomic<bool>) == 1 && std::atomic<bool>::is_always_lock_free, "generated code reads a byte");
static_assert(offsetof(CallLimits, stop) == sizeof(int64_t));

}  // namespace smalti::cpu
