#include "gpu/driver/CudaGpu.h"

#include <map>
#include <mutex>

#include <fmt/format.h>

#include "base/Lasting.h"

namespace smalti::gpu {
namespace {

constexpr int kMajor = 75, kMinor = 76;  // CUdevice_attribute of cuda.h

/// The contexts of the process, by the GPU's number.
struct Retained {
  std::mutex mutex;
  std::map<std::pair<const CudaDriver*, int>, std::pair<CudaDevice, CudaHandle>> contexts;
};

}  // namespace

Result<CudaGpu> CudaGpu::open(const CudaDriver& driver, int number) {
  static constinit Lasting<Retained> kept;
  Retained& retained = kept.get();
  if (number < 0 || number >= driver.devices())
    return fail({.code = "SM7205",
                 .message = fmt::format("there is no GPU number {}", number),
                 .place = {},
                 .need = fmt::format("a number below {}, counted from 0", driver.devices()),
                 .have = std::to_string(number),
                 .help = "omit it for the first GPU; CUDA_VISIBLE_DEVICES selects the GPUs that a process sees"});
  CudaGpu gpu;
  gpu.driver_ = &driver;
  gpu.number_ = number;
  const std::lock_guard lock(retained.mutex);
  auto [found, isNew] = retained.contexts.try_emplace({&driver, number});
  auto& [device, context] = found->second;
  if (isNew) {
    Status ok = driver.check(driver.call().deviceGet(&device, number), fmt::format("find GPU {}", number));
    if (ok)
      ok = driver.check(driver.call().primaryContextRetain(&context, device), fmt::format("start GPU {}", number));
    if (!ok) {
      retained.contexts.erase(found);
      return fail(std::move(ok.error()));
    }
  }
  gpu.device_ = device;
  gpu.context_ = context;
  return gpu;
}

CurrentGpu::CurrentGpu(const CudaGpu& gpu) : driver_(gpu.driver()) {
  const CudaFunctions& call = driver_.call();
  int result = call.contextGetCurrent(&before_);
  if (result == 0 && before_ != gpu.context_) {
    result = call.contextSetCurrent(gpu.context_);
    isChanged_ = result == 0;
  }
  status_ = driver_.check(result, fmt::format("use GPU {}", gpu.number()));
}

CurrentGpu::~CurrentGpu() {
  if (isChanged_) driver_.call().contextSetCurrent(before_);
}

int CudaGpu::attribute(int which) const {
  int value = 0;
  return driver_->call().deviceGetAttribute(&value, which, device_) == 0 ? value : 0;
}

Result<Architecture> CudaGpu::architecture() const {
  const int version = attribute(kMajor) * 10 + attribute(kMinor);
  const Architecture* best = nullptr;
  for (const Architecture& a : architectures()) {
    const bool isExact = a.name.ends_with('a');  // code for it runs on no other architecture
    if (isExact ? a.version == version : a.version <= version) best = &a;
  }
  if (best) return *best;
  return architectureNamed(fmt::format("sm_{}", version));
}

}  // namespace smalti::gpu
