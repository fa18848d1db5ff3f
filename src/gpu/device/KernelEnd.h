// How a launch ended, reported by the code in one word of memory.
#pragma once

#include <cstdint>

namespace smalti::gpu {

/// After anything but `done` the results are not valid.
enum class KernelEnd : int32_t {
  done = 0,
  fault = 1,            ///< an access out of bounds, a wait that would block, or the like
  outside = 2,          ///< an index map gave a block outside its array
  stepLimit = 3,        ///< loops went round more often than the limit allows
  stopped = 4,          ///< the caller said so
  printBufferFull = 5,  ///< the buffer for debug prints is too small
};

}  // namespace smalti::gpu
