// Skinny products of bf16 with a matrix stored as N × K: dot products of its rows in tile registers (AMX).
#pragma once

#include "cpu/product/RowProduct.h"

namespace smalti::cpu {

/// C[i,j] = Σ A[i,k]·B[j,k] (+ C[i,j]). K is a multiple of 32, and the rows of each block of B are a multiple of 16.
void emitDotTiles(NativeLowering&, const RowProduct&, const DotTilesPlan&);

}  // namespace smalti::cpu
