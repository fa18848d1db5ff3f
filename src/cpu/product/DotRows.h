// Products of few rows with a matrix stored as columns × depth: dot products of contiguous rows.
#pragma once

#include "cpu/product/RowProduct.h"

namespace smalti::cpu {

/// Worth it for this shape: packing B would cost more than the product.
bool isDotOfRows(const GemmShape&);

/// C[i,j] = Σ A[i,k]·B[j,k] (+ C[i,j]), in f32.
void emitDotRows(Lowering&, const RowProduct&);

}  // namespace smalti::cpu
