// How a launch ended, reported by the code in one word of memory.
#pragma once

#include <cstdint>

namespace smalti::gpu {

/// Results are valid only after `done`.
enum class KernelEnd : int32_t {
  done = 0,
  fault = 1,            ///< an access out of bounds, a wait that would block, or the like
  outside = 2,          ///< an index map gave a block outside its array
  stepLimit = 3,        ///< loops exceeded the iteration limit
  stopped = 4,          ///< the caller stopped the call
  printBufferFull = 5,  ///< the buffer for debug prints is too small
};

}  // namespace smalti::gpu
