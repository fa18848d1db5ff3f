// How long a candidate takes on a target.
#pragma once

#include "smalti/autotune.h"
#include "tpu/chip/Chip.h"

namespace smalti::driver {

/// The time of the call's kernel on a chip, in µs: legality and VMEM first (SM6904), then the model of time (SM6902,
/// SM6903).
Result<double> modelled(const TunedCall&, const tpu::Chip&);

/// The time of the call as native code on this machine, in µs: the shortest of several runs after a warm-up. Operands
/// without elements (of traced functions) count as zeros.
Result<double> measured(const TunedCall&);

}  // namespace smalti::driver
