#include "gpu/driver/DeviceMemory.h"

#include <algorithm>

#include <fmt/format.h>

namespace smalti::gpu {

DeviceMemory::~DeviceMemory() {
  if (at_) driver_->call().release(at_);
}

Status DeviceMemory::allocate(int64_t bytes) {
  return driver_->check(driver_->call().allocate(&at_, static_cast<size_t>(std::max<int64_t>(bytes, 1))),
                        fmt::format("allot {} bytes on the GPU", bytes));
}

Result<DeviceMemory> DeviceMemory::copyOf(const CudaDriver& driver, const void* from, int64_t bytes) {
  DeviceMemory made(driver);
  if (Status ok = made.allocate(bytes); !ok) return fail(std::move(ok.error()));
  const int result = bytes ? driver.call().copyIn(made.at(), from, static_cast<size_t>(bytes)) : 0;
  if (Status ok = driver.check(result, "copy to the GPU"); !ok) return fail(std::move(ok.error()));
  return made;
}

}  // namespace smalti::gpu
