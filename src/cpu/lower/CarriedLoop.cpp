#include "cpu/lower/CarriedLoop.h"

namespace smalti::cpu {

Carried carriedLoop(Lowering& l, int64_t begin, int64_t end, int64_t step, const Carried& carried, CarriedBody body) {
  if (begin >= end) return carried;
  Builder& b = l.b;
  auto* before = b.GetInsertBlock();
  auto* inside = llvm::BasicBlock::Create(b.getContext(), "carrying", l.function);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "carried", l.function);
  b.CreateBr(inside);
  b.SetInsertPoint(inside);
  auto* index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(l.index(begin), before);
  llvm::SmallVector<llvm::PHINode*, 24> phis;
  for (Reg r : carried) {
    phis.push_back(b.CreatePHI(r->getType(), 2));
    phis.back()->addIncoming(r, before);
  }
  const Carried next = body(index, Carried(phis.begin(), phis.end()));
  Reg further = b.CreateAdd(index, l.index(step), "", true, true);
  auto* latch = b.GetInsertBlock();
  index->addIncoming(further, latch);
  for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(next[i], latch);
  b.CreateCondBr(b.CreateICmpULT(further, l.index(end)), inside, after);
  b.SetInsertPoint(after);
  return next;
}

}  // namespace smalti::cpu
