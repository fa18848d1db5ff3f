// The facts about a kernel's code that a call needs, as text that is cached with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cpu/emit/Kernel.h"

namespace smalti::cpu {

/// One line, and no other line break.
std::string loweredText(const LoweredKernel&);
/// nullopt if the text is not in the format of `loweredText`.
std::optional<LoweredKernel> readLowered(std::string_view line);

}  // namespace smalti::cpu
