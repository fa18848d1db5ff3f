// What a call needs to know of a kernel's code, as the text kept next to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cpu/emit/Kernel.h"

namespace smalti::cpu {

/// One line, and no other line break.
std::string loweredText(const LoweredKernel&);
/// Absent when the text is not what `loweredText` writes.
std::optional<LoweredKernel> readLowered(std::string_view line);

}  // namespace smalti::cpu
