// Code that a TPU's compiler accepts but that is slow.
#pragma once

#include <vector>

#include "ir/KernelPackage.h"
#include "tpu/Vmem.h"
#include "tpu/chip/Chip.h"

namespace smalti::tpu {

/// SM6636: values whose shape fills few lanes or rows of their registers. SM6637: values for which there are not enough
/// registers. SM6638: work that the cores do not share evenly. Each once for a kernel, where it is worst.
std::vector<Diagnostic> warningsOf(const KernelPackage&, const Chip&, const VmemMap&);

}  // namespace smalti::tpu
