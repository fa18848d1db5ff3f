// How long a candidate takes on a target.
#pragma once

#include "smalti/autotune.h"
#include "tpu/chip/Chip.h"

namespace smalti::driver {

/// Of the call's kernel on a chip, in µs: legality and VMEM first (SM6904), then the model of time (SM6902, SM6903).
Result<double> modelled(const TunedCall&, const tpu::Chip&);

/// Of the call as native code on this machine, in µs: the least of several runs after one that warms up. Operands
/// without elements (of traced functions) count as zeros.
Result<double> measured(const TunedCall&);

}  // namespace smalti::driver
