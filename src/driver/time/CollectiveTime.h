// How long collectives take between devices.
#pragma once

#include "ir/program/Program.h"
#include "tpu/chip/Chip.h"

namespace smalti::driver {

/// The time of a collective among `devices` that form rings along one axis of the network, in µs; 0 for any other op.
/// It does not include HBM traffic. Source: the formulas of jax-ml/scaling-book, "Sharded matrices".
double collectiveUs(const Function&, const Op&, int64_t devices, const tpu::Chip&);

}  // namespace smalti::driver
