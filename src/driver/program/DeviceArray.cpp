// smalti/device_array.h: arrays in the memory of a GPU.
#include "smalti/device_array.h"

#include "base/CheckedBytes.h"
#include "base/DeviceArrayUses.h"
#include "base/Guarded.h"
#include "gpu/driver/DeviceMemory.h"
#include "gpu/driver/LaunchGraph.h"
#include "lang/arrays/DlpackTensors.h"

namespace smalti {
namespace {

Result<gpu::CudaGpu> openGpu(int number) {
  const auto driver = gpu::CudaDriver::open();
  if (!driver) return fail(driver.error());
  return gpu::CudaGpu::open(**driver, number);
}

/// Takes ownership of a tensor of either kind; the number of its GPU.
template <class Managed>
Result<std::pair<Array, int>> taken(Managed* tensor) {
  const std::shared_ptr<Managed> owner(tensor, dlpack::Release<Managed>{});
  auto elements = dlpack::taken(tensor->dl_tensor, owner, dlpack::kCuda, /*mayShare=*/true);
  if (!elements) return fail(std::move(elements.error()));
  return std::pair(std::move(*elements), static_cast<int>(tensor->dl_tensor.device.device_id));
}

Diagnostic noTensor() {
  return {.code = "SM6308", .message = "there is no tensor", .place = {}, .need = "a DLManagedTensor", .have = "null"};
}

}  // namespace

Result<DeviceArray> DeviceArray::allocate(ArrayType type, int gpu) {
  return guarded([&]() -> Result<DeviceArray> {
    if (checkedBytes(type) < 0) return fail(noMemoryFor(type));
    const auto opened = openGpu(gpu);
    if (!opened) return fail(opened.error());
    gpu::DeviceMemory memory(*opened);
    if (Status ok = memory.allocate(type.bytes()); !ok) return fail(std::move(ok.error()));
    const uint64_t address = memory.at();
    return view(std::move(type), address, gpu, std::make_shared<gpu::DeviceMemory>(std::move(memory)));
  });
}

Result<DeviceArray> DeviceArray::copy_of(const Array& host, int gpu) {
  return guarded([&]() -> Result<DeviceArray> {
    const auto opened = openGpu(gpu);
    if (!opened) return fail(opened.error());
    const gpu::CurrentGpu current(*opened);
    if (!current.status()) return fail(current.status().error());
    auto memory = gpu::DeviceMemory::copyOf(*opened, host.data(), host.bytes());
    if (!memory) return fail(std::move(memory.error()));
    // The copy may still be under way when it returns; streams of the caller need not wait for it.
    const gpu::CudaDriver& driver = opened->driver();
    if (Status ok = driver.check(driver.call().contextSynchronize(), "wait for the GPU"); !ok)
      return fail(std::move(ok.error()));
    const uint64_t address = memory->at();
    return view(host.type(), address, gpu, std::make_shared<gpu::DeviceMemory>(std::move(*memory)));
  });
}

DeviceArray DeviceArray::of(Array elements, int gpu) {
  DeviceArray made;
  made.elements_ = std::move(elements);
  made.gpu_ = gpu;
  made.uses_ = std::make_shared<Uses>();
  return made;
}

DeviceArray DeviceArray::view(ArrayType type, uint64_t address, int gpu, std::shared_ptr<void> owner) {
  return of(Array::view(std::move(type), reinterpret_cast<void*>(address), std::move(owner)), gpu);
}

Result<Array> DeviceArray::to_host() const {
  return guarded([&]() -> Result<Array> {
    const auto opened = openGpu(gpu_);
    if (!opened) return fail(opened.error());
    const gpu::CurrentGpu current(*opened);
    if (!current.status()) return fail(current.status().error());
    const gpu::CudaDriver& driver = opened->driver();
    auto host = Array::allocate(type());
    if (!host) return host;
    if (Status ok = driver.check(driver.call().contextSynchronize(), "wait for the GPU"); !ok)
      return fail(std::move(ok.error()));
    const int result =
        host->bytes() ? driver.call().copyOut(host->data(), address(), static_cast<size_t>(host->bytes())) : 0;
    if (Status ok = driver.check(result, "copy an array from the GPU"); !ok) return fail(std::move(ok.error()));
    return host;
  });
}

Status DeviceArray::ready_on(void* stream) const {
  return guarded([&]() -> Status {
    const auto writer = uses_ ? uses_->writer() : std::nullopt;
    if (!writer || *writer == stream) return {};
    const auto opened = openGpu(gpu_);
    if (!opened) return fail(opened.error());
    const gpu::CurrentGpu current(*opened);
    if (!current.status()) return current.status();
    return gpu::waitOn(opened->driver(), *writer, stream);
  });
}

Result<dlpack::ManagedTensor*> DeviceArray::to_dlpack() const {
  if (read_only_)
    return fail({.code = "SM6308",
                 .message = "the array is read-only, which a tensor without a version cannot express",
                 .place = {},
                 .need = "a DLManagedTensorVersioned",
                 .have = "a DLManagedTensor",
                 .help = "ask for a newer one: to_dlpack_versioned, __dlpack__(max_version=(1, 0))"});
  return dlpack::lend<dlpack::ManagedTensor>(elements_, {dlpack::kCuda, gpu_});
}

Result<dlpack::VersionedTensor*> DeviceArray::to_dlpack_versioned(dlpack::Version newest) const {
  return dlpack::lendVersioned(elements_, {dlpack::kCuda, gpu_}, newest, read_only_ ? dlpack::kReadOnly : 0);
}

Result<DeviceArray> DeviceArray::from_dlpack(dlpack::ManagedTensor* tensor) {
  if (!tensor) return fail(noTensor());
  auto made = taken(tensor);
  if (!made) return fail(std::move(made.error()));
  return of(std::move(made->first), made->second);
}

Result<DeviceArray> DeviceArray::from_dlpack(dlpack::VersionedTensor* tensor) {
  if (!tensor) return fail(noTensor());
  if (Status ok = dlpack::checkVersion(*tensor); !ok) {
    dlpack::Release<dlpack::VersionedTensor>{}(tensor);
    return fail(std::move(ok.error()));
  }
  const bool isReadOnly = (tensor->flags & dlpack::kReadOnly) != 0;
  auto made = taken(tensor);
  if (!made) return fail(std::move(made.error()));
  DeviceArray array = of(std::move(made->first), made->second);
  array.read_only_ = isReadOnly;
  return array;
}

}  // namespace smalti
