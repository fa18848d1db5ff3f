// Skinny products: they read B once and in place, and pack nothing.
#pragma once

#include "cpu/product/RowProduct.h"

namespace smalti::cpu {

/// Emits a product whose plan is skinny.
void emitSkinnyGemm(NativeLowering&, const ProductPlan&, const RowProduct&);

}  // namespace smalti::cpu
