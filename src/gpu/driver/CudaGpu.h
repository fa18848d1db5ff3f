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
  /// To ask for its properties alone: it is not started. SM7205.
  static Result<CudaGpu> find(const CudaDriver&, int number);

  const CudaDriver& driver() const { return *driver_; }
  int number() const { return number_; }
  /// An attribute by its number in cuda.h. SM7205.
  Result<int> attribute(int which) const;
  /// Its compute capability × 10: 90. SM7205.
  Result<int> version() const;
  /// The newest supported architecture whose code it runs. SM7203, SM7205.
  Result<Architecture> architecture() const;
  /// The architecture for which code for this one is assembled here: its own, "sm_86" for sm_80, so that the driver
  /// need not assemble it again. SM7205.
  Result<std::string> assembledName(const Architecture&) const;
  /// SM7210: it does not run code for this architecture.
  Status runs(const Architecture&) const;

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
