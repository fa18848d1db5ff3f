// A GPU of this machine, by its number.
#pragma once

#include "gpu/Architecture.h"
#include "gpu/driver/CudaDriver.h"

namespace smalti::gpu {

/// Uses the GPU's primary context, which the whole process shares (PyTorch, JAX) and which is never reset here.
class CudaGpu {
 public:
  /// Retains the context once per process. SM7205: there is no GPU of this number, or it does not start.
  static Result<CudaGpu> open(const CudaDriver&, int number);

  const CudaDriver& driver() const { return *driver_; }
  int number() const { return number_; }
  /// An attribute by its number in cuda.h; 0 if the driver does not know it.
  int attribute(int which) const;
  /// The newest supported architecture whose code it runs. SM7203.
  Result<Architecture> architecture() const;

 private:
  const CudaDriver* driver_ = nullptr;
  int number_ = 0;
  CudaDevice device_ = 0;
  CudaHandle context_ = nullptr;
  friend class CurrentGpu;
};

/// While it lives, the context of a GPU is current in this thread. Afterwards the one before is current again, since
/// other libraries (PyTorch, the CUDA runtime) take that one for the device that their caller has chosen.
class CurrentGpu {
 public:
  explicit CurrentGpu(const CudaGpu&);
  ~CurrentGpu();
  CurrentGpu(const CurrentGpu&) = delete;
  CurrentGpu& operator=(const CurrentGpu&) = delete;

  /// SM7205: the driver does not make it current.
  const Status& status() const { return status_; }

 private:
  const CudaDriver& driver_;
  CudaHandle before_ = nullptr;
  bool isChanged_ = false;
  Status status_;
};

}  // namespace smalti::gpu
