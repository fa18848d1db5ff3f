#include "gpu/driver/DeviceMemory.h"

#include <algorithm>

#include <fmt/format.h>

namespace smalti::gpu {

DeviceMemory::~DeviceMemory() {
  if (!at_) return;
  const CurrentGpu current(gpu_);
  if (current.status()) gpu_.driver().call().release(at_);
}

Status DeviceMemory::allocate(int64_t bytes) {
  const CurrentGpu current(gpu_);
  if (!current.status()) return current.status();
  const CudaDriver& driver = gpu_.driver();
  return driver.check(driver.call().allocate(&at_, static_cast<size_t>(std::max<int64_t>(bytes, 1))),
                      fmt::format("allot {} bytes on the GPU", bytes));
}

Result<DeviceMemory> DeviceMemory::copyOf(const CudaGpu& gpu, const void* from, int64_t bytes) {
  const CurrentGpu current(gpu);
  if (!current.status()) return fail(current.status().error());
  DeviceMemory made(gpu);
  if (Status ok = made.allocate(bytes); !ok) return fail(std::move(ok.error()));
  const CudaDriver& driver = gpu.driver();
  const int result = bytes ? driver.call().copyIn(made.at(), from, static_cast<size_t>(bytes)) : 0;
  if (Status ok = driver.check(result, "copy to the GPU"); !ok) return fail(std::move(ok.error()));
  return made;
}

}  // namespace smalti::gpu
