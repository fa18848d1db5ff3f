// Skinny products of several rows with a matrix stored as K × N, such as the queries that share a head's
// keys: the matrix is read once, by groups of its rows that fit L1, and nothing is packed.
#pragma once

#include "cpu/product/RowProduct.h"

namespace smalti::cpu {

/// C[i,j] = Σ A[i,k]·B[k,j] (+ C[i,j]), in f32. A is f32.
void emitSkinnyTiles(NativeLowering&, const RowProduct&, const SkinnyTilesPlan&);

}  // namespace smalti::cpu
