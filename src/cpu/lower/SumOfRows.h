// Products of few rows with a matrix stored as depth × columns that comes from far, such as one query's probabilities
// with all values: the matrix is read once, in order, and what is read after it is fetched meanwhile.
#pragma once

#include "cpu/lower/DotRows.h"

namespace smalti::cpu {

bool isSumOfRows(const GemmShape&, const Processor&);

/// C[i,j] = Σ A[i,k]·B[k,j] (+ C[i,j]), in f32.
void emitSumOfRows(Lowering&, const RowProduct&);

}  // namespace smalti::cpu
