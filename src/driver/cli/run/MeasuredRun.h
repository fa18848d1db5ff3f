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
/// [{"thread", "step", "from_us", "to_us"}]}]}. Unknown inputs are filled according to the options. `trace`: null,
/// or the receiver of the steps. Errors: those of running the module.
Result<Json> measuredRun(const driver::ModuleOrCase&, const TimeInputs&, const Options&, Trace* trace);

}  // namespace smalti::cli
