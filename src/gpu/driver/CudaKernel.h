// A kernel on a GPU: its code loaded once, called many times.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "gpu/driver/CudaDriver.h"
#include "gpu/ptx/Ptx.h"

namespace smalti::gpu {

/// The architecture of the first device: the newest that code is made for and that it runs. SM7203, SM7205.
Result<Architecture> presentArchitecture(const CudaDriver&);

struct CudaCall {
  int64_t stepLimit = 0, memoryLimitBytes = 0;
};

class CudaKernel {
 public:
  virtual ~CudaKernel() = default;
  /// As HostKernel::call, on the first device. SM7205 where the driver refuses or the kernel faults.
  virtual Result<std::vector<Array>> call(std::span<const Array> operands, const CudaCall&, bool& fault) const = 0;
};

/// Hands the PTX to the driver, which assembles it. SM7205.
Result<std::shared_ptr<const CudaKernel>> loadKernel(const CudaDriver&, const KernelPackage&, eval::Poison,
                                                     const PtxKernel&);

}  // namespace smalti::gpu
