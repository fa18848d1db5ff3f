// The bodies, in this process, of primitives whose names say more than their arguments.
#include "gpu/device/Primitives.h"
#include "llvm/IR/Module.h"

namespace smalti::gpu {
namespace {

/// The function's body is a call of another with more arguments.
void forward(llvm::Module& module, llvm::Function& from, const char* to, std::span<const int> more) {
  from.setLinkage(llvm::GlobalValue::InternalLinkage);
  Builder b(llvm::BasicBlock::Create(module.getContext(), "", &from));
  std::vector<Reg> arguments;
  std::vector<llvm::Type*> types;
  for (llvm::Argument& a : from.args()) arguments.push_back(&a);
  for (const int i : more) arguments.push_back(b.getInt32(static_cast<uint32_t>(i)));
  for (Reg a : arguments) types.push_back(a->getType());
  b.CreateCall(module.getOrInsertFunction(to, llvm::FunctionType::get(b.getVoidTy(), types, false)), arguments);
  b.CreateRetVoid();
}

}  // namespace

void defineHostBodies(llvm::Module& module) {
  std::vector<llvm::Function*> named;
  for (llvm::Function& f : module)
    if (f.isDeclaration() && (f.getName().starts_with(kWaitSymbol) || f.getName().starts_with(kGroupMmaSymbol)))
      named.push_back(&f);
  for (llvm::Function* f : named) {
    if (f->getName().starts_with(kWaitSymbol)) {
      forward(module, *f, kWaitSymbol, std::array{groupsNamed(f->getName())});
      continue;
    }
    const GroupProduct p = groupProductNamed(f->getName());
    forward(module, *f, kGroupMmaSymbol,
            std::array{p.columns, int{p.isF16}, int{p.lhsDepthInner}, int{p.rhsDepthInner}, p.lhsStride, p.rhsStride});
  }
}

}  // namespace smalti::gpu
