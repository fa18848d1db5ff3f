// How a call of a compiled kernel ended.
#pragma once

#include <cstdint>

namespace smalti::cpu {

/// What a kernel's code reports. The results of `done` and of negative ones are valid.
enum class KernelStatus : int32_t {
  blockReadOutside = -2,  ///< of a GPU: as done, but an input's index map gave a block outside its array: undefined
  readOutside = -1,       ///< of a GPU: as done, but scalars were loaded from outside their refs, which are undefined
  done = 0,
  fault = 1,            ///< an access out of bounds, a wait that would block, or the like
  outside = 2,          ///< an index map gave a block outside its array
  stepLimit = 3,        ///< loops exceeded the iteration limit
  stopped = 4,          ///< the caller stopped the call
  printBufferFull = 5,  ///< of a GPU: the buffer for debug prints is too small
};

}  // namespace smalti::cpu
