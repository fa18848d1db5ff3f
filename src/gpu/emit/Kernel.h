// Lowers a call to one function that all threads of all blocks run: the grid, its windows, the body.
#pragma once

#include "gpu/device/TensorMap.h"
#include "gpu/emit/GpuLowering.h"
#include "ir/KernelPackage.h"

namespace smalti::gpu {

/// void (ptr operands, ptr workspace, ptr status, i64 points, i64 iterations, maps)
/// `operands`: pointers to the call's operands, then its results, then the buffer for debug prints, if there are any.
/// `workspace`: workspaceBytes for each block of the launch. `status`: an i32 that is 0 before the launch, and then a
/// KernelStatus. `points`: the number of points of the grid axes in DeviceKernel::sharedBounds, which the code computes
/// itself if operands give their sizes; of n blocks, block b takes the points b, b + n, … `iterations`: the most loop
/// iterations of a block. `maps`: tensor maps, if the kernel has any, by value; on the host a pointer to them.
inline constexpr const char* kKernelSymbol = "smalti_kernel";

struct DeviceKernel {
  int threads = 0;                              ///< threads of a block that compute
  int copyThreads = 0;                          ///< additional threads of a block, of which one copies
  RegisterShares registers;                     ///< registers of computing and of copying threads
  std::vector<TensorMap> maps;                  ///< maps of the arrays whose boxes are copied
  int64_t sharedBytes = 0, workspaceBytes = 0;  ///< per block
  std::vector<int64_t>
      sharedBounds;  ///< sizes of the leading grid axes whose points are divided among blocks, or kDynamicBound
  std::vector<int64_t> dividedGrid;         ///< the grid of the parts, if blocks have been divided; else empty
  PointOrder order;                         ///< the order of those points
  bool hasRuns = false;                     ///< the last of these axes is divided into runs of steps (cpu::BlockRuns)
  std::vector<bool> written;                ///< by result: whether the kernel certainly writes every element
  int barriers = 0;                         ///< number of barriers in the code
  int streamed = 0, stages = 0;             ///< products whose operands are prefetched across grid steps; their stages
  int64_t stageBytes = 0;                   ///< bytes of such a stage
  int64_t residentBytes = 0;                ///< bytes of operands that are copied once per point
  int64_t copiedBytes = 0, blockBytes = 0;  ///< bytes that a step copies to stages, and of the blocks that it copies
  int turns = 0;                            ///< warp groups that issue products in turns; 0: they do not
  std::shared_ptr<const PrintOps> prints;   ///< null: the kernel prints nothing
  std::string sequentialReason;             ///< why grid axes run in order (cpu::ParallelPlan::reason)
  int allThreads() const { return threads + copyThreads; }
};

/// Attribute of a kernel's function: the least number of resident blocks per multiprocessor (PTX ISA, .minnctapersm),
/// for which ptxas limits registers.
inline constexpr const char* kMinBlocks = "nvvm.minctasm";

/// On a GPU, arrays begin at multiples of this many bytes.
inline constexpr uint64_t kArrayAlignment = 16;

struct EmitOptions {
  const Architecture& architecture;
  eval::Poison poison = eval::Poison::intMin;
  bool checkBlocks = true;   ///< blocks outside their array are found
  unsigned globalSpace = 0;  ///< LLVM address space of arrays and constants
  bool mapsByValue = false;  ///< tensor maps are passed by value, not by a pointer
};

/// Emits the function, with calls of the primitives, into the module. SM7201: an op has no device code. SM7209: the
/// kernel's parameters for GPUs are impossible.
Result<DeviceKernel> lowerKernel(const KernelPackage&, llvm::Module&, const EmitOptions&);

}  // namespace smalti::gpu
