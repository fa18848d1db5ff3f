// Kernels changed as modules, not as bytes: what comes out nearly always passes the verifiers and runs.
#pragma once

#include <string>

#include "Mutate.h"

namespace smalti::fuzz {

/// The text with some numbers of its kernels changed (constants, integers of attributes and of windows, grid bounds,
/// sizes of arrays), operands replaced by other values of their type, and ops by others of their kind. The text itself
/// where no change leaves a kernel that verifies.
std::string withMutatedStructure(const std::string& stablehlo, Random&);

}  // namespace smalti::fuzz
