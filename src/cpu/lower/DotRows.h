// Products of few rows with a matrix stored as columns × depth, such as one query with all keys: dot products of
// contiguous rows, which read each element once and pack nothing.
#pragma once

#include "cpu/gemm/Gemm.h"
#include "cpu/lower/Lowering.h"

namespace smalti::cpu {

/// Worth it for this shape: packing B would cost more than the product.
bool isDotOfRows(const GemmShape&);

/// A product with few rows; strides in elements.
struct RowProduct {
  GemmShape shape;
  Reg a = nullptr, aRow = nullptr;
  Reg b = nullptr, bRow = nullptr;
  Reg c = nullptr, cRow = nullptr;
  Reg upcoming = nullptr;  ///< View::upcoming of B
};
/// C[i,j] = Σ A[i,k]·B[j,k] (+ C[i,j]), in f32.
void emitDotRows(Lowering&, const RowProduct&);

/// While a row of B is read: fetches what will be read some rows later, of the next step's B if need be.
void prefetchUpcoming(Lowering&, const RowProduct&, Reg row, Reg address);

}  // namespace smalti::cpu
