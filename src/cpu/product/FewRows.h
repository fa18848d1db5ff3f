// Products of few rows: which way of reading their matrix they take.
#pragma once

#include "cpu/product/RowProduct.h"

namespace smalti::cpu {

/// Emits a product that packs nothing, and reports it; false: packing is better for this one, nothing is emitted.
bool emitFewRows(Lowering&, const RowProduct&);

}  // namespace smalti::cpu
