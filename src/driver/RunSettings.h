// From the options a user sets to what the machine takes.
#pragma once

#include <optional>

#include "base/Options.h"
#include "driver/Target.h"

namespace smalti::driver {

/// `recordedPoison`, of a recorded case, is taken where the option says "auto", and beyond the edges of arrays too,
/// where JAX's interpreters pad.
RunOptions runOptions(const Options&, std::optional<machine::Poison> recordedPoison = {});

/// Every observer on.
void checkEverything(machine::MachineOptions&);

}  // namespace smalti::driver
