// Copies of a stream: by all threads, or by an additional one.
#include "cpu/emit/WindowCode.h"
#include "gpu/emit/Stream.h"

namespace smalti::gpu {

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
  residentFills_ = {slot(number(0)), slot(number(0))};
  filledPoint_ = slot(l_.index(-1));
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
  }
  toComputedStep();
}

bool Stream::hasConditions() const {
  return llvm::any_of(plan_.products, [](const StreamedProduct& p) { return p.condition != nullptr; });
}

int64_t Stream::chunksPerStep() const {
  int64_t chunks = 0;
  for (const StreamedProduct& p : plan_.products) chunks += p.chunks;
  return chunks;
}

/// Makes this chunk the next one, or the first one after it whose product is computed in its step.
void Stream::skipProducts(Reg chunk) {
  int64_t before = 0;
  for (size_t i = 0; i < plan_.products.size(); ++i) {
    const int64_t end = before + plan_.products[i].chunks;
    if (needed_[i]) {
      Reg skips = b_.CreateAnd(b_.CreateICmpEQ(chunk, number(before)), b_.CreateNot(get(needed_[i], b_.getInt1Ty())));
      chunk = b_.CreateSelect(skips, number(end), chunk);
    }
    before = end;
  }
  b_.CreateStore(chunk, chunkInStep_);
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

/// i1: whether a step computes the product.
tl::expected<Reg, cpu::Unsupported> Stream::isComputed(const StreamedProduct& p, std::span<const Reg> indices) {
  return p.condition ? source_.scalarAt(p.condition, indices) : static_cast<Reg>(b_.getTrue());
}

/// Computes which products the step of the next chunk computes.
void Stream::lookUpConditions() {
  const std::vector<Reg> indices = indicesOfStep();
  for (size_t i = 0; i < plan_.products.size(); ++i) {
    if (!needed_[i]) continue;
    const auto needed = isComputed(plan_.products[i], indices);
    if (!needed) {
      if (l_.status) l_.status = tl::unexpected(needed.error());
      return;
    }
    b_.CreateStore(*needed, needed_[i]);
  }
}

/// The address of a block, or of the nearest one inside the array. With TMA, elements outside the array are 0 instead.
Reg Stream::addressInside(size_t block, std::vector<Reg> starts) {
  for (const size_t d : l_.plan.grid.blocks[block].maybeOutside)
    starts[d] = cpu::nearestInside(l_, source_.array(block), source_.bounds(block), starts[d], d);
  return cpu::elementPointer(b_, source_.array(block), starts);
}

/// Computes where the operands begin in the step of the next chunk.
void Stream::lookUpBlocks() {
  const std::vector<Reg> indices = indicesOfStep();
  for (size_t i = 0; i < plan_.products.size(); ++i) {
    const StreamedProduct& p = plan_.products[i];
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
        b_.CreateStore(addressInside(block, *starts), place[0]);
        continue;
      }
      for (size_t d = 0; d < place.size(); ++d) b_.CreateStore(b_.CreateTrunc((*starts)[d], b_.getInt32Ty()), place[d]);
    }
  }
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

/// Advances to the next step, if there is one; the last grid axis is the fastest. Returns i1: more than the index of
/// that axis has changed.
Reg Stream::toNextStep() {
  Reg carries = b_.getTrue(), others = nullptr;
  for (size_t d = inner_.size(); d-- > 0;) {
    Reg i = b_.CreateAdd(get(inner_[d], b_.getInt64Ty()), b_.CreateZExt(carries, b_.getInt64Ty()));
    Reg end = d == 0 && runEnd_ ? get(runEnd_, b_.getInt64Ty())
                                : l_.gridBounds[static_cast<size_t>(l_.plan.grid.sharedAxes) + d];
    carries = b_.CreateICmpEQ(i, end);
    b_.CreateStore(b_.CreateSelect(carries, l_.index(0), i), inner_[d]);
    if (!others) others = carries;
  }
  Reg point = get(point_, b_.getInt64Ty());
  point = b_.CreateSelect(carries, b_.CreateAdd(point, step_), point);
  b_.CreateStore(point, point_);
  Reg more = b_.CreateICmpSLT(point, points_);
  b_.CreateStore(more, more_);
  if (runEnd_) l_.when(b_.CreateAnd(more, carries), [&] { toRun(); });
  return others ? others : b_.getTrue();
}

/// Moves the places of the operands by one index of the last axis (StreamPlan::stepsAlongLastAxis).
void Stream::alongLastAxis() {
  for (size_t i = 0; i < plan_.products.size(); ++i)
    for (size_t side = 0; side < 2; ++side) {
      const StreamedOperand* o = plan_.products[i].operand(side);
      if (!o) continue;
      for (const size_t d : o->alongLastAxis) {
        Reg place = places_[i][side][d];
        b_.CreateStore(b_.CreateAdd(get(place), number(source_.bounds(o->block)[d])), place);
      }
    }
}

/// Advances from this step, if there is one, to the first one that computes a product.
void Stream::toComputedStep() {
  if (!hasConditions()) {
    b_.CreateStore(number(0), chunkInStep_);
    l_.when(get(more_, b_.getInt1Ty()), [&] { lookUpBlocks(); });
    return;
  }
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, l_.function); };
  auto *walk = block("walk"), *look = block("look"), *step = block("step"), *found = block("found"),
       *after = block("walked");
  b_.CreateBr(walk);
  b_.SetInsertPoint(walk);
  b_.CreateCondBr(get(more_, b_.getInt1Ty()), look, after);
  b_.SetInsertPoint(look);
  lookUpConditions();
  skipProducts(number(0));
  b_.CreateCondBr(b_.CreateICmpEQ(get(chunkInStep_), number(chunksPerStep())), step, found);
  b_.SetInsertPoint(step);
  toNextStep();
  b_.CreateBr(walk);
  b_.SetInsertPoint(found);
  lookUpBlocks();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

/// Advances to the next chunk that is needed.
void Stream::toNextChunk() {
  skipProducts(b_.CreateAdd(get(chunkInStep_), number(1)));
  l_.when(b_.CreateICmpEQ(get(chunkInStep_), number(chunksPerStep())), [&] {
    Reg others = toNextStep();
    if (!plan_.stepsAlongLastAxis) return toComputedStep();
    b_.CreateStore(number(0), chunkInStep_);
    l_.when(b_.CreateNot(others), [&] { alongLastAxis(); });
    l_.when(others, [&] { toComputedStep(); });
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
  if (o.isAligned && !s.isTransposed)
    s.aligned = b_.getTrue();
  else
    computeAlignment(l_, s, false);
  return s;
}

/// Copies the residents of the point that the threads begin.
void Stream::copyResidentsByAll(Reg point) {
  std::vector<Reg> indices = source_.indicesOf(point);
  indices.resize(l_.gridBounds.size(), l_.index(0));
  l_.device.barrier(b_);  // all have multiplied those of the last point
  for (const ResidentOperand& r : plan_.residents) {
    const StreamedProduct& p = plan_.products[r.product];
    const size_t block = p.operand(r.side)->block;
    const auto starts = source_.blockAt(block, indices);
    if (!starts) {
      if (l_.status) l_.status = tl::unexpected(starts.error());
      return;
    }
    const StagedOperand o = operand(p, r.side, addressInside(block, *starts));
    for (int64_t chunk = 0; chunk < p.chunks; ++chunk) {
      Reg to = b_.CreateConstInBoundsGEP1_64(
          b_.getInt8Ty(), l_.sharedBase,
          static_cast<uint64_t>(plan_.residentsAt() + r.offset + chunk * p.chunkBytes(r.side)));
      stageChunk(l_, o, to, l_.index(0), l_.index(chunk * p.tile.depth()));
    }
  }
  l_.device.commitCopies(b_);
  l_.device.waitForCopies(b_, 0);
  l_.device.barrier(b_);
}

void Stream::fetchNext() {
  l_.when(get(more_, b_.getInt1Ty()), [&] {
    Reg to = stageAt(get(fills_.stage));
    forNextProduct([&](size_t i, Reg chunk) {
      const StreamedProduct& p = plan_.products[i];
      Reg depth = b_.CreateMul(b_.CreateZExt(chunk, b_.getInt64Ty()), l_.index(p.tile.depth()));
      for (size_t side = 0; side < 2; ++side) {
        if (p.stagedBytes(side) == 0) continue;
        Reg place = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), to, static_cast<uint64_t>(p.offsetInStage(side)));
        stageChunk(l_, operand(p, side, get(places_[i][side][0], b_.getPtrTy())), place, l_.index(0), depth);
      }
    });
    advanceState(fills_, plan_.stages);
    toNextChunk();
  });
  l_.device.commitCopies(b_);
}

// ---- copies of boxes

/// Copies a chunk (i32) of an operand.
void Stream::copyBoxes(size_t product, size_t side, Reg chunk, Reg to, Reg full) {
  const StreamedProduct& p = plan_.products[product];
  const StreamedOperand& o = *p.operand(side);
  const TensorMap& map = plan_.maps[o.map];
  int64_t boxBytes = map.elementBytes;
  for (const int64_t size : map.box) boxBytes *= size;
  const size_t rank = map.box.size();  // boxes follow each other along the side
  const int64_t sideStep = map.box[rank - 1 - o.sideDim];
  for (int64_t i = 0; i * boxBytes < p.chunkBytes(side); ++i) {
    std::vector<Reg> at;
    for (size_t d = rank; d-- > 0;) {
      Reg start = get(places_[product][side][d]);
      if (d == o.depthDim) start = b_.CreateAdd(start, b_.CreateMul(chunk, number(p.tile.depth())));
      if (d == o.sideDim) start = b_.CreateAdd(start, number(i * sideStep));
      at.push_back(start);
    }
    Reg place = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), to, static_cast<uint64_t>(i * boxBytes));
    l_.device.copyBox(b_, place, l_.tensorMap(o.map), at, full);
  }
}

void Stream::copyNext() {
  Reg stage = get(fills_.stage);
  Reg to = stageAt(stage), full = mbarrier(StreamMbarrier::full, stage);
  forNextProduct([&](size_t i, Reg chunk) {
    const StreamedProduct& p = plan_.products[i];
    l_.device.mbarrierExpect(b_, full, p.stagedBytes());
    for (size_t side = 0; side < 2; ++side) {
      if (p.stagedBytes(side) == 0) continue;
      copyBoxes(i, side, chunk,
                b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), to, static_cast<uint64_t>(p.offsetInStage(side))), full);
    }
  });
  advanceState(fills_, plan_.stages);
  toNextChunk();
}

/// Waits for a stage or buffer to be free, or for the early end of the block. They are free at first, since the phase
/// before the first one has ended.
void Stream::waitToCopy(Reg mbarrier, Reg parity, llvm::BasicBlock* ended) {
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, l_.function); };
  auto *wait = block("free"), *waitOn = block("wait"), *copy = block("copy");
  Reg before = b_.CreateXor(parity, number(1));
  b_.CreateBr(wait);
  b_.SetInsertPoint(wait);
  b_.CreateCondBr(l_.device.mbarrierTest(b_, mbarrier, before), copy, waitOn);
  b_.SetInsertPoint(waitOn);
  b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateLoad(b_.getInt32Ty(), this->ended(), true), number(0)), wait, ended);
  b_.SetInsertPoint(copy);
}

/// Copies the residents of the next chunk's point.
void Stream::copyResidents(llvm::BasicBlock* ended) {
  Reg buffer = get(residentFills_.stage);
  waitToCopy(mbarrier(StreamMbarrier::residentFree, buffer), get(residentFills_.parity), ended);
  Reg full = mbarrier(StreamMbarrier::residentFull, buffer);
  l_.device.mbarrierExpect(b_, full, plan_.residentBytes);
  for (const ResidentOperand& r : plan_.residents) {
    const StreamedProduct& p = plan_.products[r.product];
    for (int64_t chunk = 0; chunk < p.chunks; ++chunk) {
      Reg to = b_.CreateAdd(b_.CreateMul(b_.CreateZExt(buffer, b_.getInt64Ty()), l_.index(plan_.residentBytes)),
                            l_.index(plan_.residentsAt() + r.offset + chunk * p.chunkBytes(r.side)));
      copyBoxes(r.product, r.side, number(chunk), b_.CreateGEP(b_.getInt8Ty(), l_.sharedBase, to), full);
    }
  }
  b_.CreateStore(get(point_, b_.getInt64Ty()), filledPoint_);
  advanceState(residentFills_, plan_.residentBuffers());
}

/// Waits for the copies that have been started: they write to the memory of the block, which may be that of another one
/// after its end. The computing threads may end early.
void Stream::waitForStarted() {
  const auto waitForLast = [&](StreamMbarrier kind, const PipelineState& fills, int count) {
    // Stages from the next one on were last filled a round earlier, or never: the phase before the first has ended.
    Reg next = get(fills.stage), parity = get(fills.parity);
    for (int s = 0; s < count; ++s) {
      Reg isEarlier = b_.CreateZExt(b_.CreateICmpULE(next, number(s)), b_.getInt32Ty());
      waitFor(mbarrier(kind, number(s)), b_.CreateXor(parity, isEarlier));
    }
  };
  waitForLast(StreamMbarrier::full, fills_, plan_.stages);
  if (!plan_.residents.empty()) waitForLast(StreamMbarrier::residentFull, residentFills_, plan_.residentBuffers());
}

void Stream::copyAll(Reg first, Reg points, Reg step) {
  copies_ = true;
  beginCopies(first, points, step);
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, l_.function); };
  auto *header = block("item"), *copy = block("chunk"), *after = block("copied");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  b_.CreateCondBr(get(more_, b_.getInt1Ty()), copy, after);
  b_.SetInsertPoint(copy);
  if (!plan_.residents.empty())
    l_.when(b_.CreateICmpNE(get(filledPoint_, b_.getInt64Ty()), get(point_, b_.getInt64Ty())),
            [&] { copyResidents(after); });
  waitToCopy(mbarrier(StreamMbarrier::free, get(fills_.stage)), get(fills_.parity), after);
  copyNext();
  b_.CreateBr(header);
  b_.SetInsertPoint(after);
  waitForStarted();
  copies_ = false;
}

}  // namespace smalti::gpu
