// Why there is no native code.
#pragma once

#include <string>

namespace smalti::cpu {

/// Why a kernel runs on the machine instead ("it signals other devices"); absent: it has native code.
using Unsupported = std::string;

}  // namespace smalti::cpu
