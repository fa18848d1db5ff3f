// The arguments of a generated kernel function besides its arrays, and its return value.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace smalti::cpu {

/// How a call ended. Unless it is `done`, the results are invalid.
enum class KernelStatus : int32_t {
  done = 0,
  fault = 1,      ///< an access out of bounds, a wait that would block, or the like
  outside = 2,    ///< an index map gave a block outside its array
  stepLimit = 3,  ///< loops exceeded the iteration limit
  stopped = 4,    ///< the flag was raised
};

/// The limits that a thread of a call checks in its loops (emit/IterationLimit.h): the first part of the function's
/// `context`.
struct CallLimits {
  int64_t iterationsLeft = INT64_MAX;  ///< remaining loop iterations; negative: the limit is exceeded
  const std::atomic<bool>* stop = nullptr;
};
static_assert(sizeof(std::atomic<bool>) == 1 && std::atomic<bool>::is_always_lock_free, "generated code reads a byte");
static_assert(offsetof(CallLimits, stop) == sizeof(int64_t));

}  // namespace smalti::cpu
