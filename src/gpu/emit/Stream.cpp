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

/// The `full` or `free` mbarrier of a stage.
Reg Stream::mbarrier(bool full, Reg stage) {
  Reg number = b_.CreateAdd(b_.CreateZExt(stage, b_.getInt64Ty()), l_.index(full ? 0 : plan_.stages));
  return b_.CreateGEP(
      b_.getInt8Ty(), l_.sharedBase,
      b_.CreateAdd(l_.index(plan_.mbarriersAt()), b_.CreateMul(number, l_.index(StreamPlan::kMbarrierBytes))));
}
/// The address of a word in shared memory that becomes 1 when the block ends early.
Reg Stream::ended() {
  return b_.CreateConstInBoundsGEP1_64(
      b_.getInt8Ty(), l_.sharedBase,
      static_cast<uint64_t>(plan_.mbarriersAt() + 2 * plan_.stages * StreamPlan::kMbarrierBytes));
}
void Stream::endEarly() {
  // If products were in flight at the end of the kernel, ptxas would serialise all of them (its warning C7518).
  if (plan_.pendingAcrossSteps && !copies_) l_.device.groupWait(b_, 0, nullptr, 0, DType::f32);
  b_.CreateStore(b_.getInt32(1), ended(), true);
}

void Stream::advanceState(const PipelineState& t) {
  Reg next = b_.CreateAdd(get(t.stage), number(1));
  Reg wraps = b_.CreateICmpEQ(next, number(plan_.stages));
  b_.CreateStore(b_.CreateSelect(wraps, number(0), next), t.stage);
  b_.CreateStore(b_.CreateXor(get(t.parity), b_.CreateZExt(wraps, b_.getInt32Ty())), t.parity);
}

void Stream::initMbarriers() {
  l_.byOneThread([&] {
    for (int s = 0; s < plan_.stages; ++s) {
      l_.device.mbarrierInit(b_, mbarrier(true, number(s)), 1);
      l_.device.mbarrierInit(b_, mbarrier(false, number(s)), l_.plan.threads / kWarp);
    }
    b_.CreateStore(b_.getInt32(0), ended(), true);
    l_.device.publish(b_);
  });
  l_.device.barrier(b_);
}

void Stream::begin(Reg first, Reg points, Reg step) {
  uses_ = {slot(number(0)), slot(number(0))};
  lastStage_ = slot(number(0));
  hasUnreleasedStage_ = slot(b_.getFalse());
  if (plan_.usesTma) return;
  beginCopies(first, points, step);
  for (int s = 0; s + 1 < plan_.stages; ++s) fetchNext();
}

// ---- the next chunk to be copied

void Stream::beginCopies(Reg first, Reg points, Reg step) {
  points_ = points;
  step_ = step;
  Reg more = b_.CreateICmpSLT(first, points);
  for (size_t d = static_cast<size_t>(l_.plan.grid.sharedAxes); d < l_.gridBounds.size(); ++d)
    inner_.push_back(slot(l_.index(0)));
  more_ = slot(more);
  point_ = slot(first);
  chunkInStep_ = slot(number(0));
  fills_ = {slot(number(0)), slot(number(0))};
  for (const StreamedProduct& p : plan_.products) {
    places_.emplace_back();
    needed_.push_back(p.condition ? slot(b_.getFalse()) : nullptr);
    for (size_t side = 0; side < 2; ++side) {
      const StreamedOperand* o = p.operand(side);
      if (!o) continue;
      std::vector<Reg>& place = places_.back()[side];
      if (plan_.usesTma)
        place.assign(source_.bounds(o->block).size(), nullptr);
      else
        place.assign(1, nullptr);
      for (Reg& r : place) r = plan_.usesTma ? slot(number(0)) : slot(llvm::ConstantPointerNull::get(b_.getPtrTy()));
    }
  }
  if (l_.plan.runs) {
    runEnd_ = slot(l_.index(0));
    for (int a = 0; a < l_.plan.grid.sharedAxes; ++a) shared_.push_back(slot(l_.index(0)));
    l_.when(more, [&] { toRun(); });
    more = get(more_, b_.getInt1Ty());
  }
  l_.when(more, [&] {
    lookUpBlocks();
    if (hasConditions()) l_.when(b_.CreateNot(isNextChunkNeeded()), [&] { toNextNeededChunk(); });
  });
}

bool Stream::hasConditions() const {
  return llvm::any_of(plan_.products, [](const StreamedProduct& p) { return p.condition != nullptr; });
}

/// i1: whether the step of the next chunk computes the chunk's product.
Reg Stream::isNextChunkNeeded() {
  Reg needed = b_.getFalse();
  int64_t before = 0;
  for (size_t i = 0; i < plan_.products.size(); ++i) {
    const int64_t chunks = plan_.products[i].chunks;
    Reg isOfProduct = b_.CreateICmpULT(b_.CreateSub(get(chunkInStep_), number(before)), number(chunks));
    Reg isComputed = needed_[i] ? get(needed_[i], b_.getInt1Ty()) : static_cast<Reg>(b_.getTrue());
    needed = b_.CreateOr(needed, b_.CreateAnd(isOfProduct, isComputed));
    before += chunks;
  }
  return needed;
}

/// The indices of all grid axes in the step of the next chunk.
std::vector<Reg> Stream::indicesOfStep() {
  std::vector<Reg> indices;
  if (runEnd_)  // the divisions of `indicesOf` are slow if sizes of the grid are known at run time only
    for (Reg i : shared_) indices.push_back(get(i, b_.getInt64Ty()));
  else
    indices = source_.indicesOf(get(point_, b_.getInt64Ty()));
  for (Reg i : inner_) indices.push_back(get(i, b_.getInt64Ty()));
  return indices;
}

/// Computes where the operands begin in the step of the next chunk.
void Stream::lookUpBlocks() {
  const std::vector<Reg> indices = indicesOfStep();
  for (size_t i = 0; i < plan_.products.size(); ++i) {
    const StreamedProduct& p = plan_.products[i];
    if (p.condition) {
      const auto needed = source_.scalarAt(p.condition, indices);
      if (!needed) {
        if (l_.status) l_.status = tl::unexpected(needed.error());
        return;
      }
      b_.CreateStore(*needed, needed_[i]);
    }
    for (size_t side = 0; side < 2; ++side) {
      const StreamedOperand* o = p.operand(side);
      if (!o) continue;
      const size_t block = o->block;
      const auto starts = source_.blockAt(block, indices);
      if (!starts) {
        if (l_.status) l_.status = tl::unexpected(starts.error());
        return;
      }
      const std::vector<Reg>& place = places_[i][side];
      if (!plan_.usesTma) {
        b_.CreateStore(cpu::elementPointer(b_, source_.array(block), *starts), place[0]);
        continue;
      }
      for (size_t d = 0; d < place.size(); ++d) b_.CreateStore(b_.CreateTrunc((*starts)[d], b_.getInt32Ty()), place[d]);
    }
  }
}

/// Advances to the next chunk that is needed.
void Stream::toNextNeededChunk() {
  if (!hasConditions()) return toNextChunk();
  auto *next = llvm::BasicBlock::Create(b_.getContext(), "walk", l_.function),
       *after = llvm::BasicBlock::Create(b_.getContext(), "walked", l_.function);
  b_.CreateBr(next);
  b_.SetInsertPoint(next);
  toNextChunk();
  b_.CreateCondBr(b_.CreateAnd(get(more_, b_.getInt1Ty()), b_.CreateNot(isNextChunkNeeded())), next, after);
  b_.SetInsertPoint(after);
}

/// Advances from the next chunk's point, which exists, to the first one at which a run begins, and to its first step.
void Stream::toRun() {
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, l_.function); };
  auto *at = block("run"), *skip = block("norun"), *after = block("inrun");
  b_.CreateBr(at);
  b_.SetInsertPoint(at);
  const std::vector<Reg> indices = source_.indicesOf(get(point_, b_.getInt64Ty()));
  for (size_t a = 0; a < shared_.size(); ++a) b_.CreateStore(indices[a], shared_[a]);
  const auto run = source_.runAt(indices.back());
  if (!run) {
    if (l_.status) l_.status = tl::unexpected(run.error());
    return;
  }
  b_.CreateStore(run->begin, inner_[0]);
  b_.CreateStore(run->end, runEnd_);
  b_.CreateCondBr(b_.CreateICmpSLT(run->begin, run->end), after, skip);
  b_.SetInsertPoint(skip);
  Reg point = b_.CreateAdd(get(point_, b_.getInt64Ty()), step_);
  Reg more = b_.CreateICmpSLT(point, points_);
  b_.CreateStore(point, point_);
  b_.CreateStore(more, more_);
  b_.CreateCondBr(more, at, after);
  b_.SetInsertPoint(after);
}

/// Advances by one chunk; the last grid axis is the fastest.
void Stream::toNextChunk() {
  int64_t chunksPerStep = 0;
  for (const StreamedProduct& p : plan_.products) chunksPerStep += p.chunks;
  Reg next = b_.CreateAdd(get(chunkInStep_), number(1));
  Reg stepEnds = b_.CreateICmpEQ(next, number(chunksPerStep));
  b_.CreateStore(b_.CreateSelect(stepEnds, number(0), next), chunkInStep_);
  l_.when(stepEnds, [&] {
    Reg carries = b_.getTrue();
    for (size_t d = inner_.size(); d-- > 0;) {
      Reg i = b_.CreateAdd(get(inner_[d], b_.getInt64Ty()), b_.CreateZExt(carries, b_.getInt64Ty()));
      Reg end = d == 0 && runEnd_ ? get(runEnd_, b_.getInt64Ty())
                                  : l_.gridBounds[static_cast<size_t>(l_.plan.grid.sharedAxes) + d];
      carries = b_.CreateICmpEQ(i, end);
      b_.CreateStore(b_.CreateSelect(carries, l_.index(0), i), inner_[d]);
    }
    Reg point = get(point_, b_.getInt64Ty());
    point = b_.CreateSelect(carries, b_.CreateAdd(point, step_), point);
    b_.CreateStore(point, point_);
    Reg more = b_.CreateICmpSLT(point, points_);
    b_.CreateStore(more, more_);
    if (runEnd_) {
      l_.when(b_.CreateAnd(more, carries), [&] { toRun(); });
      more = get(more_, b_.getInt1Ty());
    }
    l_.when(more, [&] { lookUpBlocks(); });
  });
}

/// Emits `body` once per product and executes it for the product of the next chunk. `chunk`: its number, i32.
void Stream::forNextProduct(const std::function<void(size_t, Reg)>& body) {
  int64_t before = 0;  // chunks of earlier products in the step
  for (size_t i = 0; i < plan_.products.size(); ++i) {
    const int64_t chunks = plan_.products[i].chunks;
    Reg chunk = b_.CreateSub(get(chunkInStep_), number(before));
    if (plan_.products.size() == 1)
      body(i, chunk);
    else
      l_.when(b_.CreateICmpULT(chunk, number(chunks)), [&] { body(i, chunk); });
    before += chunks;
  }
}

// ---- copies by all threads

StagedOperand Stream::operand(const StreamedProduct& p, size_t side, Reg base) {
  const StreamedOperand& o = *p.operand(side);
  const View& array = source_.array(o.block);
  const Shape& bounds = source_.bounds(o.block);
  StagedOperand s{.dtype = array.dtype,
                  .base = base,
                  .sideStride = array.strides[o.sideDim],
                  .depthStride = array.strides[o.depthDim],
                  .side = bounds[o.sideDim],
                  .depth = bounds[o.depthDim],
                  .staged = side == 0 ? p.tile.rows() : p.tile.columns()};
  s.setOrder(o.depthDim > o.sideDim, p.tile.unit);
  computeAlignment(l_, s, false);
  return s;
}

void Stream::fetchNext() {
  l_.when(get(more_, b_.getInt1Ty()), [&] {
    Reg to = stageAt(get(fills_.stage));
    forNextProduct([&](size_t i, Reg chunk) {
      const StreamedProduct& p = plan_.products[i];
      Reg depth = b_.CreateMul(b_.CreateZExt(chunk, b_.getInt64Ty()), l_.index(p.tile.depth()));
      for (size_t side = 0; side < 2; ++side) {
        if (!p.operand(side)) continue;
        Reg place =
            b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), to, static_cast<uint64_t>(side == 0 ? 0 : p.tile.lhsBytes));
        stageChunk(l_, operand(p, side, get(places_[i][side][0], b_.getPtrTy())), place, l_.index(0), depth);
      }
    });
    advanceState(fills_);
    toNextNeededChunk();
  });
  l_.device.commitCopies(b_);
}

// ---- copies of boxes

void Stream::copyBoxes(const StreamedProduct& p, size_t product, Reg chunk, Reg to, Reg full) {
  l_.device.mbarrierExpect(b_, full, p.tile.stageBytes());
  for (size_t side = 0; side < 2; ++side) {
    if (!p.operand(side)) continue;
    const StreamedOperand& o = *p.operand(side);
    const TensorMap& map = plan_.maps[o.map];
    const int64_t bytes = side == 0 ? p.tile.lhsBytes : p.tile.rhsBytes;
    int64_t boxBytes = map.elementBytes;
    for (const int64_t size : map.box) boxBytes *= size;
    const size_t rank = map.box.size();  // boxes follow each other along the side
    const int64_t sideStep = map.box[rank - 1 - o.sideDim];
    for (int64_t i = 0; i * boxBytes < bytes; ++i) {
      std::vector<Reg> at;
      for (size_t d = rank; d-- > 0;) {
        Reg start = get(places_[product][side][d]);
        if (d == o.depthDim) start = b_.CreateAdd(start, b_.CreateMul(chunk, number(p.tile.depth())));
        if (d == o.sideDim) start = b_.CreateAdd(start, number(i * sideStep));
        at.push_back(start);
      }
      Reg place = b_.CreateConstInBoundsGEP1_64(
          b_.getInt8Ty(), to, static_cast<uint64_t>((side == 0 ? 0 : p.tile.lhsBytes) + i * boxBytes));
      l_.device.copyBox(b_, place, l_.tensorMap(o.map), at, full);
    }
  }
}

void Stream::copyNext() {
  Reg stage = get(fills_.stage);
  Reg to = stageAt(stage), full = mbarrier(true, stage);
  forNextProduct([&](size_t i, Reg chunk) { copyBoxes(plan_.products[i], i, chunk, to, full); });
  advanceState(fills_);
  toNextNeededChunk();
}

void Stream::copyAll(Reg first, Reg points, Reg step) {
  copies_ = true;
  beginCopies(first, points, step);
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, l_.function); };
  auto *header = block("item"), *wait = block("free"), *waitOn = block("wait"), *copy = block("copy"),
       *after = block("copied");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  b_.CreateCondBr(get(more_, b_.getInt1Ty()), wait, after);
  // Stages are free at first, since the phase before the first one has ended.
  b_.SetInsertPoint(wait);
  Reg parity = b_.CreateXor(get(fills_.parity), number(1));
  b_.CreateCondBr(l_.device.mbarrierTest(b_, mbarrier(false, get(fills_.stage)), parity), copy, waitOn);
  b_.SetInsertPoint(waitOn);
  b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateLoad(b_.getInt32Ty(), ended(), true), number(0)), wait, after);
  b_.SetInsertPoint(copy);
  copyNext();
  b_.CreateBr(header);
  b_.SetInsertPoint(after);
  copies_ = false;
}

// ---- the computing threads

Reg Stream::next(bool forGroups) {
  Reg stage = get(uses_.stage);
  if (!plan_.usesTma) {
    l_.device.waitForCopies(b_, plan_.stages - 2);
    if (forGroups) l_.device.publish(b_);
    l_.device.barrier(b_);
    fetchNext();
    return stageAt(stage);
  }
  auto *wait = llvm::BasicBlock::Create(b_.getContext(), "wait", l_.function),
       *full = llvm::BasicBlock::Create(b_.getContext(), "full", l_.function);
  Reg at = mbarrier(true, stage), parity = get(uses_.parity);
  b_.CreateBr(wait);
  b_.SetInsertPoint(wait);
  b_.CreateCondBr(l_.device.mbarrierTest(b_, at, parity), full, wait);
  b_.SetInsertPoint(full);
  return stageAt(stage);
}

void Stream::advance() {
  b_.CreateStore(get(uses_.stage), lastStage_);
  b_.CreateStore(b_.getTrue(), hasUnreleasedStage_);
  advanceState(uses_);
}

void Stream::release() {
  if (!plan_.usesTma) return;
  l_.when(get(hasUnreleasedStage_, b_.getInt1Ty()),
          [&] { l_.device.mbarrierArrive(b_, mbarrier(false, get(lastStage_))); });
  b_.CreateStore(b_.getFalse(), hasUnreleasedStage_);
}

}  // namespace smalti::gpu
