// A kernel as bytes, from which a compile cache's key is made.
#pragma once

#include <string>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// Equal for kernels that compile to the same code, different for all others: module, types, aliases and
/// configuration; neither places in the user's source nor the kernel's name on the Pallas side.
std::string packageText(const KernelPackage&);

}  // namespace smalti::cpu
