// Steps of compileNative, for what takes them one by one: objects for C programs, `show`.
#pragma once

#include <optional>

#include "cpu/NativeKernel.h"
#include "cpu/emit/Kernel.h"

namespace smalti::cpu {

/// Why the call's arrays cannot be handed to native code as they are, without copies, if so.
std::optional<Unsupported> unsuitableArrays(const KernelPackage&);

/// Whether what a device computes depends on which one it is, or on others: on several devices it needs code for them
/// (NativeOptions::devices).
bool namesDevices(const KernelPackage&);

/// Why there is no native code for the processor, if so (SM7005): kernels call no library, and one without these
/// instructions would; addresses have 64 bits, and elements lie in memory as on the machines that Smalti runs on.
std::optional<Diagnostic> unsuitableProcessor(const Processor&);

/// Emits the kernel, its grid shared as far as it may be.
tl::expected<LoweredKernel, Unsupported> lowerPlanned(const KernelPackage&, const NativeOptions&, llvm::Module&,
                                                      NativeReport&, InterpretedOps&);

}  // namespace smalti::cpu
