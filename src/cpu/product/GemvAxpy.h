// Skinny products with a matrix stored as K × N, such as one query's probabilities with all values: each row
// of B, read once, is added to every row of C.
#pragma once

#include "cpu/product/RowProduct.h"

namespace smalti::cpu {

/// C[i,j] = Σ A[i,k]·B[k,j] (+ C[i,j]), in f32.
void emitGemvAxpy(NativeLowering&, const RowProduct&, const GemvAxpyPlan&);

}  // namespace smalti::cpu
