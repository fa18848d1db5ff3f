// Bytes of arrays whose shapes nobody has checked yet.
#pragma once

#include <cstdint>

#include "smalti/array.h"

namespace smalti {

/// Bytes of a type, or -1 if a dimension is negative or 64 bits do not count them.
int64_t checkedBytes(const ArrayType&);

/// SM1009 of an array that no memory holds.
Diagnostic noMemoryFor(const ArrayType&);

}  // namespace smalti
