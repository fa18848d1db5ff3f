// Packs operands in the order in which the micro-kernels read them.
#pragma once

#include "cpu/plan/product/Layout.h"
#include "cpu/product/gemm/Ir.h"

namespace smalti::cpu {

/// The conversion of elements from `from` to `to`; `group` elements form a word.
struct PackSpec {
  DType from = DType::f32;
  PackedElement to = PackedElement::f32;
  int group = 1, lanes = 4;
  bool nativeHalf = true;
  int tail = 0;  ///< values of k in the last, incomplete word (packRows) or vector of words (the others)
};

/// Rows of elements, the first at `row`, as one row of words: `group` of them, or the last `present`. Columns are
/// `vectors` vectors, the last of which has `lastLanes`.
Values wordsOfRows(Ir&, const PackSpec&, llvm::Value* row, llvm::Value* stride, int vectors, int lastLanes,
                   int present);

/// void(ptr from, i64 fromStride, ptr to, i64 toStride, i64 depth): [depth][columns] → [words][columns], where columns
/// are `vectors` vectors the last of which has `lastLanes`. Strides are bytes of a row; whole vectors are written.
llvm::Function* packRows(llvm::Module&, const PackSpec&, int vectors, int lastLanes);

/// void(ptr from, i64 fromStride, ptr to, i64 toStride, i64 depth): [columns][depth] → [words][columns] for one vector
/// of columns, of which `columns` are there.
llvm::Function* packTransposed(llvm::Module&, const PackSpec&, int columns);

/// void(ptr from, i64 fromStride, ptr to, i64 toStride, i64 rows, i64 depth): [rows][depth] → [rows][words].
llvm::Function* packInOrder(llvm::Module&, const PackSpec&);

/// void(ptr a, i64 stride, i64 rows, i64 words, ptr sums): factor · Σ a for each row of bytes; [rows][words], or
/// [words][rows] when `byColumns`. Rows of sums are written in whole vectors when `byColumns`.
llvm::Function* sumRows(llvm::Module&, const PackSpec&, bool byColumns, int factor);

}  // namespace smalti::cpu
