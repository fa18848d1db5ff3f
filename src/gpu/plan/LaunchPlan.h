// Plans how a kernel's call becomes a launch, before code is emitted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "cpu/Unsupported.h"
#include "cpu/analysis/Parallel.h"
#include "cpu/plan/GridPlan.h"
#include "gpu/plan/PointOrder.h"
#include "gpu/plan/RegisterPlan.h"
#include "gpu/plan/StreamPlan.h"
#include "ir/KernelPackage.h"
#include "smalti/gpu_params.h"

namespace smalti::gpu {

struct LaunchPlan {
  int threads = 256;         ///< threads per block; a multiple of a warp
  int64_t sharedBytes = 0;   ///< shared memory per block for values, besides the stages of products
  unsigned globalSpace = 0;  ///< LLVM address space of arrays and constants
  int64_t longestRun = 1;    ///< elements of the longest run: one access to the narrowest array
  RegisterPlan products;     ///< products whose operands are staged, and values in registers
  StreamPlan stream;         ///< the products whose operands are copied across steps
  int64_t stageBytes = 0;    ///< the first part of shared memory: stages of the stream, then of other products, then
                             ///< `storeBytes`
  int64_t storeBytes = 0;    ///< memory in which warps collect rows of results before they store them (emit/RowStore.h)
  cpu::GridPlan grid;        ///< the points of its shared axes are divided among blocks
  std::optional<cpu::BlockRuns> runs;       ///< so are the runs of the next axis, a run at the point where it begins
  PointOrder order;                         ///< the order of those points
  std::vector<mlir::Value> stepConditions;  ///< steps for which all are false do nothing (StepConditions.h)
  std::string sequentialReason;             ///< why grid axes run in order (cpu::ParallelPlan::reason)

  /// The number of grid axes whose points are divided among blocks.
  size_t pointAxes() const { return static_cast<size_t>(grid.sharedAxes) + (runs ? 1 : 0); }

  static constexpr int64_t kStoredRowBytes = 128;
  int64_t storesAt() const { return stageBytes - storeBytes; }
};

/// Shared memory that a block may use without opting in to more (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability": 48 KB).
inline constexpr int64_t kSharedBytes = 48 << 10;

/// `params`: what the plan need not choose. If it is impossible, `checkParams` says why.
tl::expected<LaunchPlan, cpu::Unsupported> planLaunch(const KernelPackage&, const Architecture&, bool checkBlocks,
                                                      const GpuParams& params);
/// SM7209: the plan does not do what the parameters say.
Status checkParams(const LaunchPlan&, const GpuParams&, const Architecture&);

}  // namespace smalti::gpu
