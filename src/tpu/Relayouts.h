// Values whose rows and lanes change places: what older generations move by way of VMEM.
#pragma once

#include <optional>

#include "tpu/Temporaries.h"

namespace smalti::tpu {

/// The room of one kernel: all its moves use it in turn. nullopt: registers can do what there is to do.
std::optional<KeptValue> relayoutRoom(const KernelPackage&, const Chip&);

}  // namespace smalti::tpu
