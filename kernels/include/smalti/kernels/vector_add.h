// The first kernel of every tutorial: x + y, block by block.
#pragma once

#include "smalti/pallas_call.h"

namespace smalti::kernels {

/// x + y, of one shape and dtype. `block`: elements per program; 0: chosen.
Array vector_add(const Array& x, const Array& y, int64_t block = 0);
/// The call behind it, of rank 1.
PallasCall vector_add_call(const ArrayType& x, int64_t block = 0);

}  // namespace smalti::kernels
