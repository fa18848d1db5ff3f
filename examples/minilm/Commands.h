// The verbs of `minilm`, one file each.
#pragma once

#include "driver/cli/Verbs.h"

namespace smalti::minilm {

void declareTokenize(CLI::App&, cli::Session&);
void declareEmbed(CLI::App&, cli::Session&);
void declareSearch(CLI::App&, cli::Session&);

}  // namespace smalti::minilm
