// The C header of a kernel that was compiled for a GPU ahead of time; it declares how a program launches the kernel.
#pragma once

#include <string>

#include "gpu/Architecture.h"
#include "gpu/emit/Kernel.h"
#include "ir/KernelPackage.h"

namespace smalti::gpu {

/// `symbol`: prefix of the names that it declares; `file`: name of the file with the code ("add.cubin").
std::string launchHeader(const KernelPackage&, const DeviceKernel&, const Architecture&, const std::string& symbol,
                         const std::string& file);

}  // namespace smalti::gpu
