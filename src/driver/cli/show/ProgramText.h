#pragma once

#include <string>

#include "ir/program/Program.h"

namespace smalti::cli {

/// The functions of a Program, one op per line: "%3 = kernel_call matmul (%0, %1) : f32[256,256]".
std::string programText(const Program&);

}  // namespace smalti::cli
