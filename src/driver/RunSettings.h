// Converts the user's options to the settings of targets.
#pragma once

#include <optional>

#include "base/Options.h"
#include "driver/program/RunProgram.h"

namespace smalti::driver {

/// `recordedPoison`, of a recorded case, is used if the option is "auto", and also beyond the edges of arrays, where
/// JAX's interpreters pad.
CompileOptions compileOptions(const Options&, std::optional<machine::Poison> recordedPoison = {});
ExecuteSettings executeSettings(const Options&);
RunSettings runSettings(const Options&, std::optional<machine::Poison> recordedPoison = {});

/// Validates options that not every run needs. Errors: SM6609 (`chip` names no chip), SM1011 (`net` is not a network).
Status validate(const Options&);

/// Every observer on.
void checkEverything(Contract&);

}  // namespace smalti::driver
