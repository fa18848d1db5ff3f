// A module's time as people and programs read it.
#pragma once

#include <string>

#include "driver/cli/Session.h"
#include "driver/time/ProgramTime.h"

namespace smalti::cli {

/// "12.3 µs".
std::string micro(double us);
/// One line, and with `whole` what takes the time and the costliest source lines.
std::string timeText(const Session&, const std::string& path, const tpu::Chip&, const driver::ProgramTime&, bool whole);
Json timeJson(const tpu::Chip&, const driver::ProgramTime&);

}  // namespace smalti::cli
