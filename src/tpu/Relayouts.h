// Relayouts between rows and lanes, which older generations do through VMEM.
#pragma once

#include <optional>

#include "tpu/Temporaries.h"

namespace smalti::tpu {

/// The room of one kernel: all its moves use it in turn. nullopt: registers can do what there is to do.
std::optional<KeptValue> relayoutBytes(const KernelPackage&, const Chip&);

}  // namespace smalti::tpu
