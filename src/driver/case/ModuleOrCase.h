// The argument of a command: a module, or the folder of a recorded case.
#pragma once

#include <optional>
#include <string>

#include "driver/Module.h"
#include "driver/case/Case.h"

namespace smalti::driver {

struct ModuleOrCase : LoadedModule {
  std::optional<Case> recorded;  ///< when a case folder was given
};

/// Codes as loadModule and readCase.
Result<ModuleOrCase> loadModuleOrCase(const std::string& path);

}  // namespace smalti::driver
