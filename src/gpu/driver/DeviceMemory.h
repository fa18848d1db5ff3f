// Memory of a GPU.
#pragma once

#include <utility>

#include "gpu/driver/CudaGpu.h"

namespace smalti::gpu {

/// Memory that is released when this is destroyed, whichever GPU is current then.
class DeviceMemory {
 public:
  explicit DeviceMemory(const CudaGpu& gpu) : gpu_(gpu) {}
  DeviceMemory(DeviceMemory&& other) noexcept : gpu_(other.gpu_), at_(std::exchange(other.at_, 0)) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  Status allocate(int64_t bytes);
  /// Allocates memory with a copy of the bytes.
  static Result<DeviceMemory> copyOf(const CudaGpu&, const void* from, int64_t bytes);
  CudaAddress at() const { return at_; }

 private:
  CudaGpu gpu_;
  CudaAddress at_ = 0;
};

}  // namespace smalti::gpu
