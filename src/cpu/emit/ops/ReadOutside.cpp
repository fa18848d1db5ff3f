#include "cpu/emit/ops/ReadOutside.h"

#include "cpu/runtime/OutsideReads.h"
#include "ir/KernelPackage.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {
namespace {

Reg dimensionsInMemory(NativeLowering& l, const View& ref, const LoadBounds& load) {
  constexpr size_t kNumbers = sizeof(ReadDimension) / sizeof(int64_t);
  llvm::BasicBlock& entry = l.function->getEntryBlock();
  Builder first(&entry, entry.begin());
  Reg place = first.CreateAlloca(llvm::ArrayType::get(first.getInt64Ty(), kNumbers * load.starts.size()));
  uint64_t at = 0;
  for (size_t d = 0; d < load.starts.size(); ++d)
    for (Reg number : {load.starts[d], l.index(load.sizes[d]), l.index(load.steps.empty() ? 1 : load.steps[d]),
                       ref.strides[d], extent(l.b, ref, d)})
      l.b.CreateStore(number, l.b.CreateConstInBoundsGEP1_64(l.b.getInt64Ty(), place, at++));
  return place;
}

}  // namespace

Reg loadedFrom(NativeLowering& l, mlir::Operation& op, const View& ref, const LoadBounds& load, Reg inside, Reg base) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(inside); known && known->isOne()) return base;
  Builder& b = l.b;
  auto* before = b.GetInsertBlock();
  auto* outside = llvm::BasicBlock::Create(b.getContext(), "outside", l.function);
  auto* on = llvm::BasicBlock::Create(b.getContext(), "inside", l.function);
  b.CreateCondBr(inside, on, outside, llvm::MDBuilder(b.getContext()).createBranchWeights(1 << 20, 1));
  b.SetInsertPoint(outside);
  auto* pointer = b.getPtrTy();
  auto callee = l.module.getOrInsertFunction(
      kReadOutsideSymbol,
      llvm::FunctionType::get(pointer, {pointer, pointer, pointer, pointer, b.getInt32Ty(), b.getInt32Ty()}, false));
  auto number = [&](auto n) { return b.getInt32(static_cast<uint32_t>(n)); };
  Reg copy = b.CreateCall(callee, {l.context, b.CreateGlobalString(placeOf(op.getLoc()).str()), ref.base,
                                   dimensionsInMemory(l, ref, load), number(load.starts.size()), number(ref.dtype)});
  l.require(b.CreateIsNotNull(copy));
  auto* after = b.GetInsertBlock();
  b.CreateBr(on);
  b.SetInsertPoint(on);
  auto* from = b.CreatePHI(pointer, 2);
  from->addIncoming(base, before);
  from->addIncoming(copy, after);
  return from;
}

void endAtOutsideReads(llvm::Module& module) {
  llvm::Function* function = module.getFunction(kReadOutsideSymbol);
  if (!function) return;
  function->setLinkage(llvm::GlobalValue::InternalLinkage);
  Builder b(llvm::BasicBlock::Create(module.getContext(), "", function));
  b.CreateRet(llvm::ConstantPointerNull::get(b.getPtrTy()));
}

}  // namespace smalti::cpu
