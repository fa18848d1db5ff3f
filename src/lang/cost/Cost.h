// What a kernel costs, counted from its trace (L5).
#pragma once

#include "lang/call/TracedKernel.h"

namespace smalti::lang {

/// Pallas' rules: an element-wise op is one flop per element, exp and its like one transcendental, a product
/// 2·B·M·N·K flops; a loop as often as it runs (once where its bounds are traced), of branches the dearer one; all of
/// it times the grid's programs. Bytes are those of inputs and outputs.
CostEstimate estimateCost(const TracedKernel&);

}  // namespace smalti::lang
