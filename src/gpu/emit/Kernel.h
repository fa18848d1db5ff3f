// The whole call as one function that all threads of all blocks run: the grid, its windows, the body.
#pragma once

#include "gpu/device/TensorMap.h"
#include "gpu/emit/GpuLowering.h"
#include "ir/KernelPackage.h"

namespace smalti::gpu {

/// void (ptr operands, ptr workspace, ptr status, i64 points, i64 iterations, maps)
/// `operands`: the call's operands, then its results, then the buffer for its debug prints, if it has any, each a
/// pointer. `workspace`: workspaceBytes for each block of the launch. `status`: an i32 that is 0 before; a KernelEnd
/// after. `points`: of the shared grid axes together; a block takes its number's, and every n-th after it, with n
/// blocks. `iterations`: of loops, of each block. `maps`: where the kernel has tensor maps, those, by value; on the
/// host a pointer to them.
inline constexpr const char* kKernelSymbol = "smalti_kernel";

struct DeviceKernel {
  int threads = 0;                              ///< of a block, which compute
  int copyThreads = 0;                          ///< more threads, of which one copies
  RegisterShares registers;                     ///< of both kinds
  std::vector<TensorMap> maps;                  ///< of the arrays that they copy from
  int64_t sharedBytes = 0, workspaceBytes = 0;  ///< of each block
  std::vector<int64_t>
      sharedBounds;              ///< of the leading grid axes whose points are blocks; kDynamicBound as in the grid
  PointOrder order;              ///< of those points
  std::vector<bool> written;     ///< results that the kernel surely writes to the last element
  int barriers = 0;              ///< in the code
  int streamed = 0, stages = 0;  ///< products whose operands are copied ahead over the steps of the grid; of those
  int64_t stageBytes = 0;        ///< of a stage of theirs
  std::shared_ptr<const PrintOps> prints;  ///< null: the kernel prints nothing
  std::string sequentialReason;            ///< why no more grid axes are blocks; empty: all that may be are
  int allThreads() const { return threads + copyThreads; }
};

/// Attribute of a kernel's function: how many blocks of threads run on a processor at once. ptxas limits registers
/// accordingly.
inline constexpr const char* kMinBlocks = "nvvm.minctasm";

/// On a GPU, arrays begin at multiples of this.
inline constexpr uint64_t kArrayAlignment = 16;

/// Points of the shared grid axes of a call; 1 without any.
int64_t gridPoints(std::span<const int64_t> sharedBounds, std::span<const Array> operands);

struct EmitOptions {
  const Architecture& architecture;
  eval::Poison poison = eval::Poison::intMin;
  bool checkBlocks = true;   ///< a block outside its array ends the call
  unsigned globalSpace = 0;  ///< LLVM address space of arrays and constants
  bool mapsByValue = false;  ///< tensor maps are part of the arguments; else there is a pointer to them
};

/// Emits the function into the module, with calls of the primitives; why there is no device code, and of which op.
tl::expected<DeviceKernel, cpu::Unsupported> lowerKernel(const KernelPackage&, llvm::Module&, const EmitOptions&);

}  // namespace smalti::gpu
