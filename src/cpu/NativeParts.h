// Steps of compileNative, for what takes them one by one: objects for C programs, `show`.
#pragma once

#include <optional>

#include "cpu/NativeKernel.h"
#include "cpu/lower/Kernel.h"

namespace smalti::cpu {

/// Why the call's arrays cannot be handed to native code as they are, if so.
std::optional<NotNative> unsuitableArrays(const KernelPackage&);

/// Emits the kernel, its grid shared as far as it may be.
tl::expected<LoweredKernel, NotNative> lowerPlanned(const KernelPackage&, const NativeOptions&, llvm::Module&,
                                                    NativeReport&, InterpretedOps&);

}  // namespace smalti::cpu
