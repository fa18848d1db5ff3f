// Products of several rows with a matrix stored as depth × columns that comes from far, such as the queries that share
// a head's keys: the matrix is read once, by groups of its rows that fit the first cache, and nothing is packed.
#pragma once

#include "cpu/product/RowProduct.h"

namespace smalti::cpu {

/// More rows than are worth adding one by one (SumOfRows.h), and few enough that packing B would be felt.
bool isTilesOfRows(const GemmShape&);

/// C[i,j] = Σ A[i,k]·B[k,j] (+ C[i,j]), in f32. A is f32.
void emitTilesOfRows(Lowering&, const RowProduct&);

}  // namespace smalti::cpu
