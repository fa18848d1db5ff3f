// Memory of a GPU.
#pragma once

#include <utility>

#include "gpu/driver/CudaGpu.h"

namespace smalti::gpu {

/// Memory that is released when this is destroyed. Allocation and release need the GPU's context to be current.
class DeviceMemory {
 public:
  explicit DeviceMemory(const CudaDriver& driver) : driver_(&driver) {}
  DeviceMemory(DeviceMemory&& other) noexcept : driver_(other.driver_), at_(std::exchange(other.at_, 0)) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  Status allocate(int64_t bytes);
  /// Allocates memory with a copy of the bytes.
  static Result<DeviceMemory> copyOf(const CudaDriver&, const void* from, int64_t bytes);
  CudaAddress at() const { return at_; }

 private:
  const CudaDriver* driver_;
  CudaAddress at_ = 0;
};

}  // namespace smalti::gpu
