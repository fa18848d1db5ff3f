// Native code for this processor as a target.
#pragma once

#include "driver/target/Target.h"

namespace smalti::driver {

const Target& cpuTarget();

}  // namespace smalti::driver
