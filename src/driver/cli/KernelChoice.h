#pragma once

#include <string>

#include "driver/Module.h"

namespace smalti::cli {

/// The kernel that `choice` names or counts (from 0); with an empty choice, the only one. SM1020.
Result<const KernelPackage*> chooseKernel(const driver::LoadedModule&, const std::string& choice);

}  // namespace smalti::cli
