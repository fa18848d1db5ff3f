// Runs a module as native code with timing instrumentation.
#pragma once

#include "base/Options.h"
#include "driver/case/ModuleOrCase.h"
#include "driver/cli/time/TimeInputs.h"
#include "driver/cli/time/Trace.h"

namespace smalti::cli {

/// Several runs, of which the fastest is reported. {"processor", "us": without stamps, "measured_us", "runs",
/// "kernels":
/// [{"kernel", "calls", "not_measured", "us", "threads", "grid", "steps", "parts": [{"places", "ops", "times", "us"}],
/// "first_steps":
/// [{"thread", "step", "from_us", "to_us"}]}]}. Inputs that are not known are filled as the options say. `trace`: null,
/// or what gets the steps. What running the module says.
Result<Json> measuredRun(const driver::ModuleOrCase&, const TimeInputs&, const Options&, Trace* trace);

}  // namespace smalti::cli
