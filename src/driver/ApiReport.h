// What the driver gives the public API.
#pragma once

#include "driver/Target.h"
#include "smalti/module.h"

namespace smalti::driver {

RunReport report(RunOutcome);
/// Options of the pallas_calls of this thread from now on.
void useOptions(RunOptions);

}  // namespace smalti::driver
