// Converts the user's options to the settings of targets.
#pragma once

#include <optional>

#include "base/Options.h"
#include "driver/program/RunProgram.h"

namespace smalti::driver {

/// `recordedPoison`, of a recorded case, is taken where the option says "auto", and beyond the edges of arrays too,
/// where JAX's interpreters pad.
CompileOptions compileOptions(const Options&, std::optional<machine::Poison> recordedPoison = {});
ExecuteSettings executeSettings(const Options&);
RunSettings runSettings(const Options&, std::optional<machine::Poison> recordedPoison = {});

/// Of options that not every run needs: SM6609, `chip` names no chip; SM1011, `net` is no network.
Status validate(const Options&);

/// Every observer on.
void checkEverything(Contract&);

}  // namespace smalti::driver
