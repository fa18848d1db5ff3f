// Products of few rows with a matrix that comes from far, such as one query with all keys: they read the matrix where
// it is, once, and pack nothing.
#pragma once

#include "cpu/emit/Lowering.h"
#include "cpu/plan/ProductPlan.h"

namespace smalti::cpu {

/// Rows of A from which on it takes longer to multiply rows of B than to read them.
constexpr int64_t kSlowRows = 4;

/// Blocks of which rows are multiplied together at most: more streams gain nothing.
constexpr int64_t kMostTogether = 4;

/// Rows of B.
struct BlockOfRows {
  Reg base = nullptr;
  Reg nextStepOffset = nullptr;  ///< AccessHints::nextStepOffset
};

/// A product with few rows; strides in elements.
struct RowProduct {
  GemmShape shape;
  Reg a = nullptr, aRow = nullptr;
  std::vector<BlockOfRows> b;  ///< of equal size, below each other
  Reg bRow = nullptr;
  Reg c = nullptr, cRow = nullptr;

  int64_t rowsOfBlock() const { return (shape.transposedB ? shape.n : shape.k) / static_cast<int64_t>(b.size()); }
  int64_t rowBytes() const { return storage_bytes(shape.b) * (shape.transposedB ? shape.k : shape.n); }
};

/// The same product with its single block cut into this many (ProductPlan::streams).
RowProduct inStreams(Lowering&, RowProduct, int64_t streams);

/// Calls with groups of neighbouring blocks of at most `most`, and the first one's position.
void inGroups(const RowProduct&, int64_t most, llvm::function_ref<void(llvm::ArrayRef<BlockOfRows>, int64_t)>);

/// All of `count` from `first` on in pieces of a size, the last one smaller: a loop, and code for the rest.
void inPieces(Lowering&, Reg first, int64_t count, int64_t size, llvm::function_ref<void(Reg first, int64_t count)>);

/// The address of the element `offset` elements after `base`.
Reg elementAt(Builder&, DType, Reg base, Reg offset);
/// The address of an element of C.
Reg elementOfC(Lowering&, const RowProduct&, Reg row, Reg column);
/// Zeros in some columns of all rows of C.
void clearColumnsOfC(Lowering&, const RowProduct&, Reg first, int64_t count);
/// Which lanes of a vector are among the first `columns` columns; null: all.
Reg lanesWithin(Lowering&, int64_t columns, int64_t vector);

/// While a row of a block is read: fetches what will be read some rows later, of the next step's block if need be.
void prefetchUpcoming(Lowering&, const RowProduct&, const BlockOfRows&, Reg row, Reg address);

}  // namespace smalti::cpu
