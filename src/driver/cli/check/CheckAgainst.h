// smalti check --against libtpu: where our verdicts differ from those of a TPU compiler.
#pragma once

#include "driver/cli/Session.h"
#include "tpu/chip/Chip.h"

namespace smalti::cli {

/// `compiler`: "libtpu" (the installed one), or the file of a PJRT plugin. The exit code: 0 where all verdicts and
/// reasons are the same, 1 where some differ, 2 where a module cannot be read or there is no compiler.
int checkAgainst(const Session&, const std::vector<std::string>& paths, const std::vector<tpu::Chip>& chips,
                 const std::string& compiler);

}  // namespace smalti::cli
