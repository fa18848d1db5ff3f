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
  std::map<std::pair<const CudaDriver*, int>, CudaHandle> contexts;
};

/// Whether code for it runs on no other architecture.
bool isExact(const Architecture& a) { return a.name.ends_with('a'); }
bool runsOn(const Architecture& a, int version) { return isExact(a) ? a.version == version : a.version <= version; }

}  // namespace

Result<CudaGpu> CudaGpu::find(const CudaDriver& driver, int number) {
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
  if (Status ok = driver.check(driver.call().deviceGet(&gpu.device_, number), fmt::format("find GPU {}", number)); !ok)
    return fail(std::move(ok.error()));
  return gpu;
}

Result<CudaGpu> CudaGpu::open(const CudaDriver& driver, int number) {
  auto gpu = find(driver, number);
  if (!gpu) return gpu;
  static constinit Lasting<Retained> kept;
  Retained& retained = kept.get();
  const std::lock_guard lock(retained.mutex);
  auto [found, isNew] = retained.contexts.try_emplace({&driver, number});
  if (isNew)
    if (Status ok = driver.check(driver.call().primaryContextRetain(&found->second, gpu->device_),
                                 fmt::format("start GPU {}", number));
        !ok) {
      retained.contexts.erase(found);
      return fail(std::move(ok.error()));
    }
  gpu->context_ = found->second;
  return gpu;
}

CurrentGpu::CurrentGpu(const CudaGpu& gpu) : driver_(gpu.driver()) {
  status_ = driver_.usableHere();
  if (!status_) return;
  const CudaFunctions& call = driver_.call();
  int result = call.contextGetCurrent(&before_);
  if (result == 0 && before_ != gpu.context_) {
    result = call.contextSetCurrent(gpu.context_);
    isChanged_ = result == 0;
  }
  if (result != 0) status_ = driver_.check(result, fmt::format("use GPU {}", gpu.number()));
}

CurrentGpu::~CurrentGpu() {
  if (isChanged_) driver_.call().contextSetCurrent(before_);
}

Result<int> CudaGpu::attribute(int which) const {
  int value = 0;
  if (Status ok = driver_->check(driver_->call().deviceGetAttribute(&value, which, device_),
                                 fmt::format("tell property {} of GPU {}", which, number_));
      !ok)
    return fail(std::move(ok.error()));
  return value;
}

Result<int> CudaGpu::version() const {
  const auto major = attribute(kMajor);
  if (!major) return major;
  const auto minor = attribute(kMinor);
  if (!minor) return minor;
  return *major * 10 + *minor;
}

Result<Architecture> CudaGpu::architecture() const {
  const auto own = version();
  if (!own) return fail(own.error());
  const Architecture* best = nullptr;
  for (const Architecture& a : architectures())
    if (runsOn(a, *own)) best = &a;
  if (best) return *best;
  return architectureNamed(fmt::format("sm_{}", *own));
}

Result<std::string> CudaGpu::assembledName(const Architecture& architecture) const {
  if (isExact(architecture)) return std::string(architecture.name);
  const auto own = version();
  if (!own) return fail(own.error());
  return fmt::format("sm_{}", *own);
}

Status CudaGpu::runs(const Architecture& architecture) const {
  const auto own = version();
  if (!own) return fail(own.error());
  if (runsOn(architecture, *own)) return {};
  return fail({.code = "SM7210",
               .message = fmt::format("GPU {} does not run code for {}", number_, architecture.name),
               .place = {},
               .need = fmt::format("sm_{}{}", architecture.version, isExact(architecture) ? "" : " or later"),
               .have = fmt::format("sm_{}", *own),
               .help = "omit the GPU's name, so that the code is for the GPU that is there"});
}

}  // namespace smalti::gpu
