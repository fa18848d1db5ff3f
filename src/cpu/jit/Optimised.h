// The LLVM IR from which code is generated, as text.
#pragma once

#include <string>

#include "cpu/jit/Jit.h"

namespace smalti::cpu {

/// generateObject's module after its passes, as text.
Result<std::string> generateOptimised(ModuleBuilder&&, const Processor&);

}  // namespace smalti::cpu
