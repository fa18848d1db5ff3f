// The identity of a program, which processes compare before they run it together.
#pragma once

#include <string>

#include "ir/program/Program.h"

namespace smalti::driver {

/// A text for people and for comparison: name, meshes, version of Smalti, and a hash of the whole computation.
std::string programIdentity(const Program&);

}  // namespace smalti::driver
