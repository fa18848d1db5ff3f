// Arrays that hold no numbers: traced ones, and those that were never assigned.
#pragma once

#include "smalti/array.h"

namespace smalti::lang {

/// Error SM6118 for an Array that was never given a value.
void checkHasValue(const Array&);
/// Error SM6105 for a traced value outside its kernel, SM6118 for an Array that was never given a value.
void checkConcrete(const Array&);

}  // namespace smalti::lang
