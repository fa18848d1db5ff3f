// Products of few rows with a matrix stored as depth × columns that comes from far, such as one query's probabilities
// with all values: sums of its rows, which are read once.
#pragma once

#include "cpu/product/RowProduct.h"

namespace smalti::cpu {

/// Each row of B is added to every row of C: worth it for two or three of them.
bool isSumOfRows(const GemmShape&, const Processor&);

/// C[i,j] = Σ A[i,k]·B[k,j] (+ C[i,j]), in f32.
void emitSumOfRows(Lowering&, const RowProduct&);

}  // namespace smalti::cpu
