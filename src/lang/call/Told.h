// What a run has to say besides its results.
#pragma once

#include <vector>

#include "smalti/executable.h"

namespace smalti::lang {

/// The results; what the kernel printed, and what was found: in a plain call that is what the machine sees itself,
/// unless an option asks for checks (SMALTI_CHECK=on).
std::vector<Array> told(RunReport&&);

}  // namespace smalti::lang
