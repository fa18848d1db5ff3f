// Products of few rows with a matrix stored as columns × depth, such as one query with all keys: dot products of
// contiguous rows, which read each element once and pack nothing.
#pragma once

#include "cpu/gemm/Gemm.h"
#include "cpu/lower/Lowering.h"

namespace smalti::cpu {

/// Worth it for this shape: packing B would cost more than the product.
bool isDotOfRows(const GemmShape&);

/// Rows of B.
struct BlockOfRows {
  Reg base = nullptr;
  Reg upcoming = nullptr;  ///< View::upcoming
};

/// A product with few rows; strides in elements.
struct RowProduct {
  GemmShape shape;
  Reg a = nullptr, aRow = nullptr;
  std::vector<BlockOfRows> b;  ///< of equal size, below each other
  Reg bRow = nullptr;
  Reg c = nullptr, cRow = nullptr;

  int64_t rowsOfBlock() const { return (shape.transposedB ? shape.n : shape.k) / static_cast<int64_t>(b.size()); }
};
/// C[i,j] = Σ A[i,k]·B[j,k] (+ C[i,j]), in f32.
void emitDotRows(Lowering&, const RowProduct&);

/// While a row of a block is read: fetches what will be read some rows later, of the next step's block if need be.
void prefetchUpcoming(Lowering&, const RowProduct&, const BlockOfRows&, Reg row, Reg address);

}  // namespace smalti::cpu
