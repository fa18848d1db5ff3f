#include "cpu/product/RowProduct.h"

#include <algorithm>

#include "cpu/product/gemm/Ir.h"

namespace smalti::cpu {

RowProduct inStreams(NativeLowering& l, RowProduct p, int64_t streams) {
  const BlockOfRows whole = p.b[0];
  Reg partBytes = l.b.CreateMul(p.ldb, l.index(p.rowsOfBlock() / streams * storage_bytes(p.shape.b)));
  for (int64_t i = 1; i < streams; ++i)
    // `nextStepOffset` is a distance, which is the same for every part.
    p.b.push_back({l.b.CreatePtrAdd(whole.base, l.b.CreateMul(partBytes, l.index(i))), whole.nextStepOffset});
  return p;
}

Reg blockAfterLast(NativeLowering& l, const RowProduct& p, int64_t block) {
  const BlockOfRows& same = p.b[static_cast<size_t>(std::min(block, static_cast<int64_t>(p.b.size()) - 1))];
  if (same.nextStepOffset) return l.b.CreatePtrAdd(same.base, same.nextStepOffset);
  Reg rows = l.b.CreateMul(l.index((block + 1) * p.rowsOfBlock()), p.ldb);
  return elementAt(l.b, p.shape.b, p.b.back().base, rows);
}

BlockTable::BlockTable(NativeLowering& l, size_t size) : b_(l.b) {
  llvm::BasicBlock& entry = l.function->getEntryBlock();
  table_ = Builder(&entry, entry.getFirstInsertionPt()).CreateAlloca(llvm::ArrayType::get(b_.getPtrTy(), size));
}

void forEachBlockGroup(const RowProduct& p, int64_t most,
                       llvm::function_ref<void(llvm::ArrayRef<BlockOfRows>, int64_t)> use) {
  const auto count = static_cast<int64_t>(p.b.size());
  for (int64_t first = 0; first < count; first += most)
    use(llvm::ArrayRef(p.b).slice(static_cast<size_t>(first), static_cast<size_t>(std::min(most, count - first))),
        first);
}

void forEachTile(NativeLowering& l, Reg first, int64_t count, int64_t size,
                 llvm::function_ref<void(Reg, int64_t)> use) {
  const int64_t whole = count / size * size;
  if (whole == size)
    use(first, size);
  else if (whole > 0)
    l.loop(l.index(0), l.index(whole), l.index(size), [&](Reg at) { use(l.b.CreateAdd(first, at), size); });
  if (whole < count) use(l.b.CreateAdd(first, l.index(whole)), count - whole);
}

Reg elementAt(Builder& b, DType t, Reg base, Reg offset) {
  return b.CreateGEP(storageType(b.getContext(), t), base, offset);
}

Reg elementOfC(NativeLowering& l, const RowProduct& p, Reg row, Reg column) {
  return elementAt(l.b, DType::f32, p.c, l.b.CreateAdd(l.b.CreateMul(row, p.ldc), column));
}

void clearColumnsOfC(NativeLowering& l, const RowProduct& p, Reg first, int64_t count) {
  l.loop(l.index(0), l.index(p.shape.m), l.index(1), [&](Reg i) {
    l.b.CreateMemSet(elementOfC(l, p, i, first), l.b.getInt8(0), static_cast<uint64_t>(count) * sizeof(float),
                     llvm::MaybeAlign(4));
  });
}

Reg lanesWithin(NativeLowering& l, int64_t columns, int64_t vector) {
  const int lanes = l.processor.lanes(4);
  const int64_t left = columns - vector * lanes;
  return left >= lanes ? nullptr : firstLanes(l.b, lanes, static_cast<int>(left));
}

void prefetchUpcoming(NativeLowering& l, const RowProduct& p, const BlockOfRows& block, Reg row, Reg address) {
  Builder& b = l.b;
  const int64_t size = storage_bytes(p.shape.b), rows = p.rowsOfBlock();
  const int64_t ahead = block.nextStepOffset ? p.prefetch.acrossSteps : p.prefetch.withinBlock;
  if (ahead == 0) return;
  Reg stride = b.CreateMul(p.ldb, l.index(size));
  Reg distance = b.CreateMul(stride, l.index(ahead));
  if (block.nextStepOffset) {
    Reg next = b.CreateAdd(block.nextStepOffset, b.CreateMul(stride, l.index(ahead - rows)));
    distance = b.CreateSelect(b.CreateICmpULT(row, l.index(rows - ahead)), distance, next);
  }
  // Into L2: L1's fill buffers stay free for the current loads.
  prefetchLine(b, b.CreatePtrAdd(address, distance), CacheLevel::l2);
}

}  // namespace smalti::cpu
