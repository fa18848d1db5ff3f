// How a kernel's call becomes a launch: decided before code is emitted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "cpu/Unsupported.h"
#include "cpu/plan/GridPlan.h"
#include "gpu/plan/PointOrder.h"
#include "gpu/plan/RegisterPlan.h"
#include "gpu/plan/StreamPlan.h"
#include "ir/KernelPackage.h"

namespace smalti::gpu {

struct LaunchPlan {
  int threads = 256;             ///< of a block; a multiple of a warp
  int64_t sharedBytes = 0;       ///< of shared memory that values may take, per block, besides the stages of products
  unsigned globalSpace = 0;      ///< LLVM address space of arrays and constants
  int64_t longestRun = 1;        ///< of elements that a thread takes together: as one access has of the narrowest array
  RegisterPlan products;         ///< by tensor cores
  StreamPlan stream;             ///< of those, the ones that are fed across steps
  int64_t stageBytes = 0;        ///< of shared memory, at its beginning: stages of the stream, then of other products,
                                 ///< then `storeBytes`
  int64_t storeBytes = 0;        ///< where warps collect rows of results before they store them (emit/RowStore.h)
  cpu::GridPlan grid;            ///< its shared axes are those whose points are blocks
  PointOrder order;              ///< of those points
  std::string sequentialReason;  ///< why no more grid axes are blocks; empty: all that may be are

  static constexpr int64_t kStoredRowBytes = 128;
  int64_t storesAt() const { return stageBytes - storeBytes; }
};

/// Shared memory that every GPU gives a block without being asked (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability": 48 KB).
inline constexpr int64_t kSharedBytes = 48 << 10;

tl::expected<LaunchPlan, cpu::Unsupported> planLaunch(const KernelPackage&, const Architecture&, bool checkBlocks);

}  // namespace smalti::gpu
