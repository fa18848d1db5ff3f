// smalti cache warm: compiles kernels into the folder of compiled kernels.
#pragma once

#include <CLI/CLI.hpp>

#include "driver/cli/Session.h"

namespace smalti::cli {

CLI::App* declareCacheWarm(CLI::App& cache, Session&);

}  // namespace smalti::cli
