#include "gpu/emit/Stream.h"

#include "llvm/IR/Module.h"

namespace smalti::gpu {

Reg Stream::slot(Reg value) {
  Reg made = l_.slot(value->getType());
  b_.CreateStore(value, made);
  return made;
}

Reg Stream::stageAt(Reg stage) {
  return b_.CreateGEP(b_.getInt8Ty(), l_.sharedBase,
                      b_.CreateMul(b_.CreateZExt(stage, b_.getInt64Ty()), l_.index(plan_.stageBytes)));
}

Reg Stream::mbarrier(StreamMbarrier kind, Reg i) {
  Reg number = b_.CreateAdd(b_.CreateZExt(i, b_.getInt64Ty()), l_.index(plan_.firstMbarrier(kind)));
  return b_.CreateGEP(
      b_.getInt8Ty(), l_.sharedBase,
      b_.CreateAdd(l_.index(plan_.mbarriersAt()), b_.CreateMul(number, l_.index(StreamPlan::kMbarrierBytes))));
}
/// Waits until the phase of this parity has ended.
void Stream::waitFor(Reg mbarrier, Reg parity) {
  auto *wait = llvm::BasicBlock::Create(b_.getContext(), "wait", l_.function),
       *after = llvm::BasicBlock::Create(b_.getContext(), "full", l_.function);
  b_.CreateBr(wait);
  b_.SetInsertPoint(wait);
  b_.CreateCondBr(l_.device.mbarrierTest(b_, mbarrier, parity), after, wait);
  b_.SetInsertPoint(after);
}
/// The address of a word in shared memory that becomes 1 when the block ends early.
Reg Stream::ended() {
  return b_.CreateConstInBoundsGEP1_64(
      b_.getInt8Ty(), l_.sharedBase,
      static_cast<uint64_t>(plan_.mbarriersAt() + plan_.mbarriers() * StreamPlan::kMbarrierBytes));
}
void Stream::endEarly() {
  // If products were in flight at the end of the kernel, ptxas would serialise all of them (its warning C7518).
  if (plan_.pendingAcrossSteps && !copies_) l_.device.groupWait(b_, 0, nullptr, 0, DType::f32);
  if (!copies_) endTurn();
  b_.CreateStore(b_.getInt32(1), ended(), true);
  if (copies_) waitForStarted();
}

/// To the next of `count` stages or buffers.
void Stream::advanceState(const PipelineState& t, int count) {
  Reg next = b_.CreateAdd(get(t.stage), number(1));
  Reg wraps = b_.CreateICmpEQ(next, number(count));
  b_.CreateStore(b_.CreateSelect(wraps, number(0), next), t.stage);
  b_.CreateStore(b_.CreateXor(get(t.parity), b_.CreateZExt(wraps, b_.getInt32Ty())), t.parity);
}

void Stream::initMbarriers() {
  const int warps = l_.plan.threads / kWarp;
  l_.byOneThread([&] {
    for (int s = 0; s < plan_.stages; ++s) {
      l_.device.mbarrierInit(b_, mbarrier(StreamMbarrier::full, number(s)), 1);
      l_.device.mbarrierInit(b_, mbarrier(StreamMbarrier::free, number(s)), warps);
    }
    if (!plan_.residents.empty())
      for (int s = 0; s < plan_.residentBuffers(); ++s) {
        l_.device.mbarrierInit(b_, mbarrier(StreamMbarrier::residentFull, number(s)), 1);
        l_.device.mbarrierInit(b_, mbarrier(StreamMbarrier::residentFree, number(s)), warps);
      }
    for (int g = 0; g < plan_.turns; ++g)
      l_.device.mbarrierInit(b_, mbarrier(StreamMbarrier::turn, number(g)), warps / plan_.turns);
    b_.CreateStore(b_.getInt32(0), ended(), true);
    l_.device.publish(b_);
  });
  l_.device.barrier(b_);
}

void Stream::begin(Reg first, Reg points, Reg step) {
  uses_ = {slot(number(0)), slot(number(0))};
  residentUses_ = {slot(number(0)), slot(number(0))};
  lastStage_ = slot(number(0));
  hasUnreleasedStage_ = slot(b_.getFalse());
  usedPoint_ = slot(l_.index(-1));
  atPoint_ = slot(l_.index(-1));
  if (plan_.turns) {
    holdsTurn_ = slot(b_.getFalse());
    // The first group need not wait, since the phase before the first one has ended.
    turnParity_ = slot(b_.CreateZExt(b_.CreateICmpEQ(group(), number(0)), b_.getInt32Ty()));
  }
  if (plan_.usesTma) return;
  beginCopies(first, points, step);
  for (int s = 0; s + 1 < plan_.stages; ++s) fetchNext();
}

// ---- the computing threads

void Stream::enterPoint(Reg point) {
  if (plan_.residents.empty()) return;
  if (plan_.usesTma)
    b_.CreateStore(point, atPoint_);
  else
    copyResidentsByAll(point);
}

void Stream::beginProduct() {
  if (plan_.residents.empty() || !plan_.usesTma) return;
  // At most one branch per product: the point's first product of all that are computed waits.
  Reg point = get(atPoint_, b_.getInt64Ty()), last = get(usedPoint_, b_.getInt64Ty());
  l_.when(b_.CreateICmpNE(point, last), [&] {
    l_.when(b_.CreateICmpSGE(last, l_.index(0)), [&] {
      l_.device.mbarrierArrive(b_, mbarrier(StreamMbarrier::residentFree, get(residentUses_.stage)));
      advanceState(residentUses_, plan_.residentBuffers());
    });
    b_.CreateStore(point, usedPoint_);
    waitFor(mbarrier(StreamMbarrier::residentFull, get(residentUses_.stage)), get(residentUses_.parity));
  });
}

Reg Stream::residentAt(const StreamedProduct& p, size_t side, Reg chunk) {
  const ResidentOperand& r = plan_.residents[*p.operand(side)->resident];
  Reg buffer = b_.CreateZExt(get(residentUses_.stage), b_.getInt64Ty());
  Reg at = b_.CreateAdd(b_.CreateMul(buffer, l_.index(plan_.residentBytes)),
                        b_.CreateMul(chunk, l_.index(p.chunkBytes(side))));
  return b_.CreateGEP(b_.getInt8Ty(), l_.sharedBase, b_.CreateAdd(at, l_.index(plan_.residentsAt() + r.offset)));
}

/// i32: the number of this thread's warp group, which is the same in all threads of a warp.
Reg Stream::group() {
  return l_.device.sameInWarp(b_, b_.CreateUDiv(l_.thread, number(l_.plan.threads / plan_.turns)));
}

void Stream::beginTurn() {
  if (!plan_.turns) return;
  l_.when(b_.CreateNot(get(holdsTurn_, b_.getInt1Ty())), [&] {
    Reg parity = get(turnParity_);
    waitFor(mbarrier(StreamMbarrier::turn, group()), parity);
    b_.CreateStore(b_.CreateXor(parity, number(1)), turnParity_);
    b_.CreateStore(b_.getTrue(), holdsTurn_);
  });
}

void Stream::endTurn() {
  if (!holdsTurn_) return;
  l_.when(get(holdsTurn_, b_.getInt1Ty()), [&] {
    Reg next = b_.CreateAdd(group(), number(1));
    next = b_.CreateSelect(b_.CreateICmpEQ(next, number(plan_.turns)), number(0), next);
    l_.device.mbarrierArrive(b_, mbarrier(StreamMbarrier::turn, next));
    b_.CreateStore(b_.getFalse(), holdsTurn_);
  });
}

void Stream::endTurnUnlessContinued() {
  if (!plan_.turns) return;
  // The next step may belong to another block of threads.
  if (l_.plan.runs || l_.plan.grid.sharedAxes == static_cast<int>(l_.gridBounds.size())) return endTurn();
  std::vector<Reg> indices(source_.currentIndices().begin(), source_.currentIndices().end());
  indices.back() = b_.CreateAdd(indices.back(), l_.index(1));
  Reg ends = b_.getFalse();
  for (const StreamedProduct& p : plan_.products) {
    if (!p.lhs) continue;
    const auto computed = isComputed(p, indices);
    if (!computed) {
      if (l_.status) l_.status = tl::unexpected(computed.error());
      return;
    }
    ends = b_.CreateOr(ends, *computed);
  }
  Reg isInPoint = b_.CreateICmpSLT(indices.back(), l_.gridBounds.back());
  l_.when(b_.CreateNot(b_.CreateAnd(isInPoint, ends)), [&] { endTurn(); });
}

Reg Stream::next(bool forGroups) {
  Reg stage = get(uses_.stage);
  if (!plan_.usesTma) {
    l_.device.waitForCopies(b_, plan_.stages - 2);
    if (forGroups) l_.device.publish(b_);
    l_.device.barrier(b_);
    fetchNext();
    return stageAt(stage);
  }
  waitFor(mbarrier(StreamMbarrier::full, stage), get(uses_.parity));
  return stageAt(stage);
}

void Stream::advance() {
  b_.CreateStore(get(uses_.stage), lastStage_);
  b_.CreateStore(b_.getTrue(), hasUnreleasedStage_);
  advanceState(uses_, plan_.stages);
}

void Stream::release() {
  if (!plan_.usesTma) return;
  l_.when(get(hasUnreleasedStage_, b_.getInt1Ty()),
          [&] { l_.device.mbarrierArrive(b_, mbarrier(StreamMbarrier::free, get(lastStage_))); });
  b_.CreateStore(b_.getFalse(), hasUnreleasedStage_);
}

}  // namespace smalti::gpu
