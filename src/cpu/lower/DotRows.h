// Products of few rows with a matrix stored as columns × depth, such as one query with all keys: dot products of
// contiguous rows, which read each element once and pack nothing.
#pragma once

#include "cpu/gemm/Gemm.h"
#include "cpu/lower/Lowering.h"

namespace smalti::cpu {

/// Worth it for this shape: packing B would cost more than the product.
bool isDotOfRows(const GemmShape&);

/// C[i,j] = Σ A[i,k]·B[j,k] (+ C[i,j]), in f32; strides in elements.
struct DotRows {
  GemmShape shape;
  Reg a = nullptr, aRow = nullptr;
  Reg b = nullptr, bRow = nullptr;
  Reg c = nullptr, cRow = nullptr;
};
void emitDotRows(Lowering&, const DotRows&);

}  // namespace smalti::cpu
