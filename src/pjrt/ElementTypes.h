// Element types as PJRT numbers them.
#pragma once

#include "smalti/diagnostic.h"
#include "smalti/dtype.h"

namespace smalti::pjrt {

/// Of the enumeration PJRT_Buffer_Type. SM6809: it has none (semaphores, index).
Result<int> bufferType(DType);

}  // namespace smalti::pjrt
