#pragma once

#include <string>

#include "driver/Module.h"

namespace smalti::cli {

/// The kernel selected by `choice`, a name or a number (from 0); with an empty choice, the only one. SM1020.
Result<const KernelPackage*> chooseKernel(const driver::LoadedModule&, const std::string& choice);

}  // namespace smalti::cli
