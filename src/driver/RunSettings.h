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

/// SM6609: the option `chip` names a chip that does not exist. Kernels run without it, but a wrong name is a mistake.
Status namesKnownChips(const Options&);

/// Every observer on.
void checkEverything(Contract&);

}  // namespace smalti::driver
