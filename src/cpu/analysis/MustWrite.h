// Which results a kernel surely writes to the last element, before it reads them: only the others are made undefined
// before a call.
#pragma once

#include <vector>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// One per result. A proof: `false` where there is doubt.
std::vector<bool> mustWrite(const KernelPackage&);

}  // namespace smalti::cpu
