// A kernel on a GPU: its code loaded once, called many times.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
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
  /// Runs one call on the GPU, with the contract of HostKernel::call. SM7205: the driver fails. SM7208: the
  /// kernel faults.
  virtual Result<LaunchResult> call(std::span<const Array> operands, const CudaCall&) const = 0;
  virtual const CudaGpu& gpu() const = 0;
  /// The kernel with arrays in the GPU's memory, of the call's types; operands keep their elements. SM7207: a launch
  /// needs elements of operands on the host, or converts arrays.
  virtual Result<std::unique_ptr<BoundKernel>> bind(std::span<const CudaAddress> operands,
                                                    std::span<const CudaAddress> results, const CudaCall&) const = 0;
};

/// The code of a kernel, as a GPU takes it.
struct GpuCode {
  PtxKernel ptx;
  Architecture architecture;         ///< of the PTX
  std::optional<std::string> cubin;  ///< assembled for this GPU; null: the driver assembles the PTX
};

/// Passes the code to the driver, which assembles the PTX if there is no cubin or one that it does not know. SM7205.
Result<std::shared_ptr<const CudaKernel>> loadKernel(const CudaGpu&, const KernelPackage&, eval::Poison,
                                                     const GpuCode&);

}  // namespace smalti::gpu
