// What processes compare before they run a program together.
#pragma once

#include <string>

#include "ir/program/Program.h"

namespace smalti::driver {

/// For people and for comparison: name, meshes, version of Smalti, and a hash of all that is computed.
std::string programIdentity(const Program&);

}  // namespace smalti::driver
