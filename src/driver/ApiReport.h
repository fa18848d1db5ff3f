// What the driver gives the public API.
#pragma once

#include "driver/program/RunProgram.h"
#include "smalti/executable.h"

namespace smalti::driver {

RunReport report(RunOutcome&&);
/// Of one device.
RunReport report(machine::KernelResult&&);

}  // namespace smalti::driver
