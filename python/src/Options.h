// Options of Python's functions as Settings.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "smalti/settings.h"

namespace smalti::python {

using OptionList = std::vector<std::pair<std::string, std::string>>;

/// Of kernels in programs of JAX.
inline constexpr const char* kDefaultTarget = "cpu";

/// The target of `chosen`, else of SMALTI_TARGET, else kDefaultTarget.
std::string targetOf(const OptionList& chosen);

/// `defaults`, over them the SMALTI_… variables, over them `chosen`. Throws Error SM1011 for what is not an option.
Settings settingsFrom(const OptionList& defaults, const OptionList& chosen);

}  // namespace smalti::python
