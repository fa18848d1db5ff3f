// NVIDIA GPUs.
#pragma once

#include "driver/target/Target.h"
#include "gpu/Architecture.h"

namespace smalti::driver {

/// The GPU of this machine, through its driver.
const Target& cudaTarget();
/// The same code, run by this process.
const Target& cudaHostTarget();

/// The kernel as GPUs run it under a contract: with a TPU's numerics, if it wants them. SM7201: it names devices, or
/// only the machine knows a TPU's numerics of an op. SM7202: only the machine has the contract.
Result<KernelPackage> kernelForGpus(const KernelPackage&, const Contract&);
/// The architecture that `show` shows: the one that the target's argument names, otherwise that of its GPU. Without an
/// argument and a GPU, the newest one. SM7203, SM7205.
Result<gpu::Architecture> shownArchitecture(std::string_view argument);
/// For `show`.
Result<CodeView> inspectCudaCode(const KernelPackage&, const CodeRequest&);

}  // namespace smalti::driver
