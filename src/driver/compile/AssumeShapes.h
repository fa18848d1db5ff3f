// Bare kernels before a compiler, which wants to know how large arrays are.
#pragma once

#include "driver/Module.h"

namespace smalti::driver {

/// A bare kernel does not say how large its arrays are: its blocks are taken as whole arrays, so that no rule about
/// blocks can be broken. SM30xx.
Status assumeShapes(LoadedModule&);

}  // namespace smalti::driver
