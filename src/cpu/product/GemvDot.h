// Skinny products with a matrix stored as N × K: dot products of contiguous rows.
#pragma once

#include "cpu/product/RowProduct.h"

namespace smalti::cpu {

/// C[i,j] = Σ A[i,k]·B[j,k] (+ C[i,j]), in f32.
void emitGemvDot(NativeLowering&, const RowProduct&, const GemvDotPlan&);

}  // namespace smalti::cpu
