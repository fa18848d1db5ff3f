// A kernel on a GPU: its code loaded once, called many times.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "gpu/LaunchResult.h"
#include "gpu/driver/BoundKernel.h"
#include "gpu/driver/CudaGpu.h"
#include "gpu/ptx/Ptx.h"

namespace smalti::gpu {

struct CudaCall {
  int64_t stepLimit = 0, memoryLimitBytes = 0;
};

class CudaKernel {
 public:
  virtual ~CudaKernel() = default;
  /// Runs one call on the GPU, with the contract of HostKernel::call. SM7205: the driver fails or the kernel faults.
  virtual Result<LaunchResult> call(std::span<const Array> operands, const CudaCall&) const = 0;
  virtual const CudaGpu& gpu() const = 0;
  /// The kernel with arrays in the GPU's memory, of the call's types; operands keep their elements. SM7207: a launch
  /// needs elements of operands on the host, or converts arrays.
  virtual Result<std::unique_ptr<BoundKernel>> bind(std::span<const CudaAddress> operands,
                                                    std::span<const CudaAddress> results, const CudaCall&) const = 0;
};

/// Passes the PTX to the driver, which assembles it for the GPU. SM7205.
Result<std::shared_ptr<const CudaKernel>> loadKernel(const CudaGpu&, const KernelPackage&, eval::Poison,
                                                     const PtxKernel&);

}  // namespace smalti::gpu
