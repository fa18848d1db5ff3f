#include "gpu/device/Primitives.h"

#include "llvm/IR/Module.h"

namespace smalti::gpu {

Reg Primitives::call(Builder& b, const char* name, llvm::Type* result, llvm::ArrayRef<Reg> arguments, bool convergent) {
  std::vector<llvm::Type*> types;
  for (Reg v : arguments) types.push_back(v->getType());
  auto callee = module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  if (convergent) function->setConvergent();
  auto* made = b.CreateCall(callee, llvm::SmallVector<Reg, 4>(arguments));
  if (convergent) made->setConvergent();
  return made;
}

Reg Primitives::thread(Builder& b) { return call(b, kThreadSymbol, b.getInt32Ty(), {}); }
Reg Primitives::block(Builder& b) { return call(b, kBlockSymbol, b.getInt32Ty(), {}); }
Reg Primitives::blocks(Builder& b) { return call(b, kBlocksSymbol, b.getInt32Ty(), {}); }
void Primitives::barrier(Builder& b) {
  call(b, kBarrierSymbol, b.getVoidTy(), {b.getInt32(static_cast<uint32_t>(barriers_++))}, true);
}
Reg Primitives::shuffle(Builder& b, Reg bits, int laneMask) {
  return call(b, kShuffleSymbol, b.getInt32Ty(), {bits, b.getInt32(static_cast<uint32_t>(laneMask))}, true);
}
std::array<Reg, 4> Primitives::mma(Builder& b, std::span<const Reg> left, std::span<const Reg> right,
                                   std::span<const Reg> sums, bool isF16) {
  // Through memory of the thread, so that both bodies are called alike.
  auto& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  Builder at(&entry, entry.begin());
  auto* type = llvm::ArrayType::get(b.getFloatTy(), 4);
  Reg place = at.CreateAlloca(type);
  for (unsigned i = 0; i < 4; ++i) b.CreateStore(sums[i], b.CreateConstInBoundsGEP2_32(type, place, 0, i));
  std::vector<Reg> arguments{place, b.getInt32(isF16 ? 1 : 0)};
  arguments.insert(arguments.end(), left.begin(), left.end());
  arguments.insert(arguments.end(), right.begin(), right.end());
  call(b, kMmaSymbol, b.getVoidTy(), arguments, true);
  std::array<Reg, 4> result{};
  for (unsigned i = 0; i < 4; ++i)
    result[i] = b.CreateLoad(b.getFloatTy(), b.CreateConstInBoundsGEP2_32(type, place, 0, i));
  return result;
}
Reg Primitives::shared(Builder& b) { return call(b, kSharedSymbol, b.getPtrTy(), {}); }
Reg Primitives::stopped(Builder& b) {
  return b.CreateICmpNE(call(b, kStoppedSymbol, b.getInt32Ty(), {}), b.getInt32(0));
}

}  // namespace smalti::gpu
