#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/KernelPackage.h"

namespace smalti::cli {

/// The keys of a kernel's configuration that are set, and their values as text; attributes of the call too.
std::vector<std::pair<std::string, std::string>> configRows(const KernelPackage&);

}  // namespace smalti::cli
