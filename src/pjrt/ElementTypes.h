// Element types as PJRT numbers them.
#pragma once

#include "smalti/diagnostic.h"
#include "smalti/dtype.h"

namespace smalti::pjrt {

/// The value of the enumeration PJRT_Buffer_Type. Error SM6809: there is none (semaphores, index).
Result<int> bufferType(DType);

}  // namespace smalti::pjrt
