// Skinny products with a large matrix, such as one query with all keys: they read the matrix in place,
// once, and pack nothing.
#pragma once

#include "cpu/emit/NativeLowering.h"
#include "cpu/plan/product/ProductPlan.h"

namespace smalti::cpu {

/// A block of rows of B.
struct BlockOfRows {
  Reg base = nullptr;
  Reg nextStepOffset = nullptr;  ///< AccessHints::nextStepOffset
};

/// A skinny product; strides in elements.
struct RowProduct {
  GemmShape shape;
  Reg a = nullptr, lda = nullptr;
  std::vector<BlockOfRows> b;  ///< blocks of equal size, concatenated along the rows
  Reg ldb = nullptr;
  Reg c = nullptr, ldc = nullptr;
  RowPrefetch prefetch{};  ///< prefetch distances for B
  bool bf16Pairs = false;  ///< ProductPlan::bf16Pairs

  int64_t rowsOfBlock() const { return (shape.transposedB ? shape.n : shape.k) / static_cast<int64_t>(b.size()); }
};

/// The same product with its single block divided into `streams` blocks (ProductPlan::streams).
RowProduct inStreams(NativeLowering&, RowProduct, int64_t streams);

/// The address to prefetch after all blocks in place of block `block`: the same block of the next step; if that is
/// unknown, the memory that follows the last block.
Reg blockAfterLast(NativeLowering&, const RowProduct&, int64_t block);

/// Addresses of blocks on the stack, for loops over blocks.
class BlockTable {
 public:
  BlockTable(NativeLowering&, size_t size);
  void store(int64_t at, Reg address) { b_.CreateStore(address, slot(b_.getInt64(static_cast<uint64_t>(at)))); }
  Reg load(Reg at) { return b_.CreateLoad(b_.getPtrTy(), slot(at)); }

 private:
  Reg slot(Reg at) { return b_.CreateGEP(b_.getPtrTy(), table_, at); }
  Builder& b_;
  Reg table_;
};

/// Calls the body with groups of at most `most` neighbouring blocks, and the position of each group.
void forEachBlockGroup(const RowProduct&, int64_t most, llvm::function_ref<void(llvm::ArrayRef<BlockOfRows>, int64_t)>);

/// Divides `count` items from `first` on into parts of a fixed size: emits a loop, and code for the smaller last part.
void forEachTile(NativeLowering&, Reg first, int64_t count, int64_t size,
                 llvm::function_ref<void(Reg first, int64_t count)>);

/// The address of the element `offset` elements after `base`.
Reg elementAt(Builder&, DType, Reg base, Reg offset);
/// The address of an element of C.
Reg elementOfC(NativeLowering&, const RowProduct&, Reg row, Reg column);
/// Stores zeros to some columns of all rows of C.
void clearColumnsOfC(NativeLowering&, const RowProduct&, Reg first, int64_t count);
/// The mask of the lanes that are among the first `columns` columns; null: all are.
Reg lanesWithin(NativeLowering&, int64_t columns, int64_t vector);

/// Called while a row of a block is read; prefetches a later row, possibly of the next step's block.
void prefetchUpcoming(NativeLowering&, const RowProduct&, const BlockOfRows&, Reg row, Reg address);

}  // namespace smalti::cpu
