// The output of a plain call about its run in addition to the results.
#pragma once

#include <vector>

#include "smalti/executable.h"

namespace smalti::lang {

/// The results. What kernels printed goes to stdout, what was found to stderr: in a plain call that is what the machine
/// sees itself, unless an option asks for checks (SMALTI_CHECK=on).
std::vector<Array> printAndTakeResults(RunReport&&);

}  // namespace smalti::lang
