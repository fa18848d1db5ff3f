// Undefined elements past an array's end that stay past the end.
#pragma once

#include "cpu/check/Plan.h"

namespace smalti::cpu {

/// What lies past the end of an input's array, in a partial block, only reaches what lies past the end of
/// results: whole blocks go through ops element by element to whole blocks of outputs with the same window, which the
/// kernel does not read. Nothing of it need be followed then. `input`: as KernelSignature::windows counts.
bool staysOutside(const KernelPackage&, size_t input);

}  // namespace smalti::cpu
