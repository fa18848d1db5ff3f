// The data of a report, as JSON.
#pragma once

#include "driver/Module.h"
#include "driver/cli/Session.h"
#include "driver/cli/time/TimeInputs.h"
#include "driver/cli/time/Trace.h"
#include "tpu/chip/Chip.h"

namespace smalti::cli {

/// {"module", "version", "kernels": [{"name", "grid", "text", "lines": [{"place", "ops"}]}], "chips": {NAME: {"facts",
/// "refusals", "vmem", "time", "advice"}}}. `module` is a Program (`driver::setShapes`). `trace`: null, or what gets
/// the kernels' timelines.
Json reportData(const driver::LoadedModule&, const std::vector<tpu::Chip>&, const TimeInputs&, Trace* trace);

}  // namespace smalti::cli
