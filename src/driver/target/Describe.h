// The targets as `smalti env` shows them.
#pragma once

#include <string>

#include "driver/Json.h"

namespace smalti::driver {

/// A line each, and another one for why a target is not available.
std::string describeTargets();
/// name, argument, summary, ahead_of_time, available, unavailable_because.
Json targetsJson();

}  // namespace smalti::driver
