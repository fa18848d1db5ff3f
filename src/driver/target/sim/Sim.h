// A TPU on paper as a target: results by the abstract machine with the chip's numerics, time by the model of src/sim.
#pragma once

#include "driver/target/Target.h"
#include "tpu/chip/Chip.h"

namespace smalti::driver {

const Target& simTarget();

/// The chip of a target "sim:CHIP"; nullopt for other targets. Its SM66xx where there is no such chip.
Result<std::optional<tpu::Chip>> simulatedChip(std::string_view target);

}  // namespace smalti::driver
