// The verb `compile`.
#pragma once

#include "driver/cli/Session.h"

namespace smalti::cli {

void declareCompile(CLI::App&, Session&);

}  // namespace smalti::cli
