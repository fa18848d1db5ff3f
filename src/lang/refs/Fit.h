// Values that are stored to Refs.
#pragma once

#include "smalti/ops.h"

namespace smalti::lang {

/// The value converted to the type of a Ref: weak numbers take the Ref's dtype, smaller shapes are broadcast (S-D2).
/// Error SM6112 for another dtype.
Array fit(const Operand& value, const ArrayType& type);

}  // namespace smalti::lang
