// NVIDIA GPUs.
#pragma once

#include "driver/target/Target.h"

namespace smalti::driver {

/// The GPU of this machine, through its driver.
const Target& cudaTarget();
/// The same code, run by this process.
const Target& cudaHostTarget();

/// Why a kernel has no code for GPUs whatever its body is: SM7201 where it names devices, SM7202 for a contract that
/// only the machine has.
Status takenByGpus(const KernelPackage&, const Contract&);
/// For `show`.
Result<CodeView> inspectCudaCode(const KernelPackage&, const CodeRequest&);

}  // namespace smalti::driver
