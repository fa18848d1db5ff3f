// Details that do not fit into tables of cases.
#pragma once

#include <string>
#include <vector>

#include "driver/case/Conform.h"
#include "driver/cli/Session.h"

namespace smalti::cli {

/// The whole diagnostic of each case that crashed: the limit that it met and what to try.
std::string crashText(const Session&, const std::vector<driver::ConformCase>&, const std::vector<driver::CaseOutcome>&);

}  // namespace smalti::cli
