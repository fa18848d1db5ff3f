// Devices behind a PJRT plugin as a target: TPUs, or those of any other plugin.
#pragma once

#include "driver/target/Target.h"

namespace smalti::driver {

const Target& tpuTarget();

/// The plugin that a target's text ("tpu", "tpu:FILE") names, or the installed libtpu. SM6801.
Result<std::string> pluginOf(std::string_view target);

}  // namespace smalti::driver
