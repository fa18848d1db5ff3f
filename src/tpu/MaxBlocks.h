// How large blocks may become before a kernel no longer fits into VMEM.
#pragma once

#include <string>
#include <vector>

#include "tpu/Vmem.h"

namespace smalti::tpu {

/// One axis of the grid, and the dimensions of blocks that follow it.
struct MaxBlocks {
  size_t axis = 0;
  int64_t block = 0;                ///< elements of a block along it now
  int64_t extent = 0;               ///< of the arrays
  int64_t largest = 0;              ///< that fits, a multiple of `step`; 0: not even the smallest does
  int64_t dividing = 0;             ///< the largest that fits and divides the extent; 0: none
  int64_t step = 0;                 ///< whole tiles
  std::vector<std::string> follow;  ///< "input 0 dimension 1"
};

/// Axes whose index alone chooses blocks of one size along a dimension. Scratch grows with its dimension of that size;
/// what the compiler adds grows in proportion: an estimate.
std::vector<MaxBlocks> bytesOf(const KernelPackage&, const Chip&, const VmemMap&);

}  // namespace smalti::tpu
