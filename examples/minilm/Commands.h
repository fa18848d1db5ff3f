// The verbs of `minilm`, one file each.
#pragma once

#include "driver/cli/Verbs.h"

namespace smalti::minilm {

void declareTokenize(CLI::App&, cli::Session&);

}  // namespace smalti::minilm
