// The values that the time of a module depends on: given inputs, and assumptions about the others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/case/ModuleOrCase.h"
#include "driver/cli/Session.h"
#include "driver/time/ProgramTime.h"

namespace smalti::cli {

struct TimeInputArguments {
  std::vector<std::string> in;      ///< "x.npy" for the next one, "2=x.npy"
  std::vector<std::string> assume;  ///< "always", "never", "2=16", "2=1,0,3", "kernels.py:23=8"
  void declare(CLI::App&);
};

struct TimeInputs {
  std::vector<std::optional<Array>> inputs;
  sim::Assumptions assume;
  double timeLimitSeconds = 60;  ///< for the model of each kernel
};

/// The inputs of --in, otherwise those of the recorded case, and the limit of --timeout-seconds. Errors: SM1000,
/// SM1008, and those of reading arrays.
Result<TimeInputs> timeInputsOf(const Session&, const driver::ModuleOrCase&, const TimeInputArguments&);

}  // namespace smalti::cli
