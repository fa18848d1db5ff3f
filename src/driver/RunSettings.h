// From the options a user sets to what the machine takes.
#pragma once

#include "base/Options.h"
#include "driver/Target.h"

namespace smalti::driver {

/// `recordedPoison` is taken where the option says "auto".
RunOptions runOptions(const Options&, machine::Poison recordedPoison = machine::Poison::intMin);

/// Every observer on.
void checkEverything(machine::MachineOptions&);

}  // namespace smalti::driver
