// The LLVM IR that code is generated from, for people.
#pragma once

#include <string>

#include "cpu/jit/Jit.h"

namespace smalti::cpu {

/// generateObject's module after its passes, as text.
Result<std::string> generateOptimised(ModuleBuilder&&, const Processor&);

}  // namespace smalti::cpu
