// Floats that are not numbers, for tests.
#pragma once

#include <limits>

namespace smalti::cpu {

inline constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace smalti::cpu
