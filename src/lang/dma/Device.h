// Device ids of remote copies and signals.
#pragma once

#include "smalti/dma.h"

namespace smalti::lang {

/// The logical id of a device, i32. Errors SM6508.
Array logicalId(const DeviceId&, DeviceIdType);

}  // namespace smalti::lang
