// Whether a kernel has a time on a chip: its compiler may refuse it.
#pragma once

#include "ir/KernelPackage.h"
#include "tpu/chip/Chip.h"

namespace smalti::driver {

/// SM6904, with the compiler's reason.
Status takenBy(const tpu::Chip&, const KernelPackage&);

}  // namespace smalti::driver
