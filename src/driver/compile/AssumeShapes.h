// Array shapes of bare kernels for a compiler, which requires them.
#pragma once

#include "driver/Module.h"

namespace smalti::driver {

/// A bare kernel does not say how large its arrays are: its blocks are taken as whole arrays, so that no rule about
/// blocks can be broken. SM30xx.
Status assumeShapes(LoadedModule&);

}  // namespace smalti::driver
