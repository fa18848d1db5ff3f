// Proves that a kernel writes every element of a result before it reads any. Only other results are made undefined
// before a call.
#pragma once

#include <vector>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// One per result. A proof: `false` where there is doubt.
std::vector<bool> mustWrite(const KernelPackage&);

}  // namespace smalti::cpu
