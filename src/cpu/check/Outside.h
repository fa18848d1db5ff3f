// Proves that undefined elements past an array's end only reach elements past the end of results.
#pragma once

#include "cpu/check/Plan.h"

namespace smalti::cpu {

/// Elements past the end of an input's array, in a partial block, only reach elements past the end of results, or are
/// masked (cpu/analysis/EdgeMasks.h). Such an input needs no mask. Two proofs: whole blocks go through ops element by
/// element to whole blocks of outputs with the same window, which the kernel does not read; or, for each dimension with
/// a partial block, nothing combines elements at different positions along its grid axis. `input`: numbered as in
/// KernelSignature::windows.
bool staysOutside(const KernelPackage&, size_t input);

}  // namespace smalti::cpu
