// The transposed copy of few rows: loops that read an element of each row find these next to each other.
#pragma once

#include "cpu/product/RowProduct.h"
#include "cpu/product/gemm/Ir.h"

namespace smalti::cpu {

/// Copies A to words [word of k][row], where a word of 4 bytes is an f32 or a pair of bf16 (RowProduct::bf16Pairs).
/// Rows from m up to paddedRows are zeros. A vector has `lanes` words.
View rowsAsColumns(NativeLowering&, const RowProduct&, int lanes);

/// Numbers the lanes of all vectors one after the other, and rotates the bits of these numbers to the right. There are
/// a power of two of vectors.
Values rotatedRight(Builder&, Values, int bits);

}  // namespace smalti::cpu
