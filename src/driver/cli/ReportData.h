// What a report shows, as JSON.
#pragma once

#include "driver/Module.h"
#include "driver/cli/Session.h"
#include "sim/Time.h"
#include "tpu/Chip.h"

namespace smalti::cli {

/// {"module", "version", "kernels": [{"name", "grid", "text", "lines": [{"place", "ops"}]}], "chips": {NAME: {"facts",
/// "refusals", "vmem", "time", "advice"}}}. `module` is a Program (`driver::setShapes`).
Json reportData(const driver::LoadedModule& module, const std::vector<tpu::Chip>&, sim::Assume);

}  // namespace smalti::cli
