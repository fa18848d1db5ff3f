// The steps of compileNative, for callers that need them separately: objects for C programs, `show`.
#pragma once

#include <optional>

#include "cpu/NativeKernel.h"
#include "cpu/emit/Kernel.h"

namespace smalti::cpu {

/// The reason why native code cannot use the call's arrays without copies, if there is one.
std::optional<Unsupported> unsuitableArrays(const KernelPackage&);

/// Whether a device's results depend on its index or on other devices: several devices then need code for them
/// (NativeOptions::devices).
bool namesDevices(const KernelPackage&);

/// The reason why there is no native code for the processor, if any (SM7005): kernels call no library, and one without
/// these instructions would; addresses have 64 bits, and elements the layout of the machines that Smalti runs on.
std::optional<Diagnostic> unsuitableProcessor(const Processor&);

/// The plan of the kernel's code; threads share as many grid axes as is proved safe. Nothing is emitted.
tl::expected<PlannedKernel, Unsupported> planNative(const KernelPackage&, const NativeOptions&);

/// Plans the kernel and emits it. `measured`: as in LowerOptions.
tl::expected<LoweredKernel, Unsupported> planAndLower(const KernelPackage&, const NativeOptions&, llvm::Module&,
                                                      NativeReport&, FallbackOps&,
                                                      MeasuredLowering* measured = nullptr);

}  // namespace smalti::cpu
