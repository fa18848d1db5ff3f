// Arrays that were never assigned.
#pragma once

#include "smalti/array.h"

namespace smalti::lang {

/// Error SM6118 for an Array that was never given a value.
void checkHasValue(const Array&);

}  // namespace smalti::lang
