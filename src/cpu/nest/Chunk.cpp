#include "cpu/nest/Chunk.h"

#include "cpu/emit/Streaming.h"
#include "cpu/emit/elements/Elementwise.h"
#include "cpu/product/gemm/Ir.h"

namespace smalti::cpu {
namespace {

llvm::Align alignmentOf(DType t) { return llvm::Align(static_cast<uint64_t>(storage_bytes(t))); }

Reg lanePointers(Builder& b, const Elements& e, int lanes) {
  llvm::SmallVector<llvm::Constant*, 64> numbers;
  for (int k = 0; k < lanes; ++k) numbers.push_back(b.getInt64(static_cast<uint64_t>(k)));
  Reg offsets =
      b.CreateMul(llvm::ConstantVector::get(numbers), b.CreateVectorSplat(static_cast<unsigned>(lanes), e.stride));
  return b.CreateGEP(storageType(b.getContext(), e.view.dtype), e.first, offsets);
}

Reg allLanes(Builder& b, int lanes) { return b.CreateVectorSplat(static_cast<unsigned>(lanes), b.getTrue()); }

/// Lane by lane, since gathers of narrow elements are scalarised anyway.
Reg gather(Builder& b, const Elements& e, const Chunk& chunk) {
  const DType t = e.view.dtype;
  auto* type = llvm::FixedVectorType::get(storageType(b.getContext(), t), static_cast<unsigned>(chunk.lanes));
  Reg mask = chunk.mask ? chunk.mask : allLanes(b, chunk.lanes);
  return fromStorage(b, t,
                     b.CreateMaskedGather(type, lanePointers(b, e, chunk.lanes), alignmentOf(t), mask,
                                          llvm::Constant::getNullValue(type)));
}

}  // namespace

Reg loadChunk(Builder& b, const Elements& e, const Chunk& chunk) {
  const DType t = e.view.dtype;
  if (!e.stride || chunk.lanes == 1) return loadElements(b, t, e.first, 1);
  const auto step = constantOf(e.stride);
  if (step == 1) return loadElements(b, t, e.first, chunk.lanes, chunk.mask);
  if (step == 0) return splat(b, loadElements(b, t, e.first, 1), chunk.lanes);
  return gather(b, e, chunk);
}

void storeChunk(NativeLowering& l, const Elements& e, Reg value, const Chunk& chunk, Reg mask) {
  const DType t = e.view.dtype;
  if (!e.stride || chunk.lanes == 1) {
    const auto store = [&] { storeElements(l.b, t, value, e.first, 1); };
    // A single element is skipped if it is masked out.
    if (mask && !llvm::isa<llvm::FixedVectorType>(mask->getType()))
      l.when(mask, store);
    else
      store();
    return;
  }
  if (constantOf(e.stride) == 1) {
    llvm::Instruction* store = storeElements(l.b, t, value, e.first, chunk.lanes, mask);
    if (e.view.hints.nonTemporal && !mask) mayStream(*store);
    return;
  }
  l.b.CreateMaskedScatter(toStorage(l.b, t, value), lanePointers(l.b, e, chunk.lanes), alignmentOf(t),
                          mask ? mask : allLanes(l.b, chunk.lanes));
}

}  // namespace smalti::cpu
