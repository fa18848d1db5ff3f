// Kernels with checks compiled in for a GPU: bounds, and reads before writes.
#pragma once

#include "cpu/check/Instrument.h"

namespace smalti::gpu {

/// The kernel with the checks of native code for CPUs. Fails for kernels whose copies must be watched in flight, since
/// copies of device code complete immediately: the machine checks these.
tl::expected<cpu::CheckedPackage, cpu::Unsupported> withDeviceChecks(const KernelPackage&);

}  // namespace smalti::gpu
