#include "gpu/driver/BoundKernel.h"

namespace smalti::gpu {

Status BoundKernel::enqueue(CudaHandle stream) const {
  const CudaDriver& driver = gpu_.driver();
  const CudaFunctions& call = driver.call();
  for (const Copy& c : copies_)
    if (Status ok = driver.check(call.copyOnDevice(c.to, c.from, static_cast<size_t>(c.bytes), stream),
                                 "copy an operand on the GPU");
        !ok)
      return ok;
  for (const Fill& f : fills_) {
    const auto n = static_cast<size_t>(f.elements);
    const int result = f.elementBytes == 1   ? call.fill8(f.to, static_cast<unsigned char>(f.bits), n, stream)
                       : f.elementBytes == 2 ? call.fill16(f.to, static_cast<unsigned short>(f.bits), n, stream)
                                             : call.fill32(f.to, f.bits, n, stream);
    if (Status ok = driver.check(result, "fill a result on the GPU"); !ok) return ok;
  }
  return start(driver, launch_, stream);
}

Result<cpu::KernelStatus> BoundKernel::ended() const {
  const CudaDriver& driver = gpu_.driver();
  const CudaFunctions& call = driver.call();
  int32_t status = 0;
  Status ok = driver.check(call.contextSynchronize(), "run the kernel to its end");
  if (ok) ok = driver.check(call.copyOut(&status, launch_.ended, sizeof(status)), "read how a kernel ended");
  if (ok && status != 0) {
    const int32_t none = 0;
    ok = driver.check(call.copyIn(launch_.ended, &none, sizeof(none)), "copy to the GPU");
    if (ok) ok = driver.check(call.contextSynchronize(), "copy to the GPU");
  }
  if (!ok) return fail(std::move(ok.error()));
  return static_cast<cpu::KernelStatus>(status);
}

}  // namespace smalti::gpu
