// Shapes as Python writes them.
#pragma once

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "smalti/array.h"

namespace smalti::tpu {

/// "(8, 128)".
inline std::string tuple(const Shape& s) { return fmt::format("({})", fmt::join(s, ", ")); }

}  // namespace smalti::tpu
