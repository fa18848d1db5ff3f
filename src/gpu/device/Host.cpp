// The in-process bodies of primitives whose names encode more than their arguments.
#include <fmt/format.h>

#include "gpu/device/Primitives.h"
#include "gpu/device/TensorMap.h"
#include "llvm/IR/Module.h"

namespace smalti::gpu {
namespace {

/// Defines the function as a call of another one with additional arguments.
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

/// Passes 0 for the coordinates beyond the rank of the box.
void forwardBox(llvm::Module& module, llvm::Function& from) {
  forward(module, from, kCopyBoxSymbol, std::vector<int>(3 + TensorMap::kMaxDimensions - from.arg_size(), 0));
}

/// Register limits have no meaning for fibres.
void defineEmpty(llvm::Function& f) {
  f.setLinkage(llvm::GlobalValue::InternalLinkage);
  Builder(llvm::BasicBlock::Create(f.getContext(), "", &f)).CreateRetVoid();
}

void definePacked(llvm::Function& f, DType dtype) {
  f.setLinkage(llvm::GlobalValue::InternalLinkage);
  Builder b(llvm::BasicBlock::Create(f.getContext(), "", &f));
  Reg words[2];
  for (unsigned i = 0; i < 2; ++i)
    words[i] = b.CreateZExt(cpu::toStorage(b, dtype, cpu::roundTo(b, dtype, f.getArg(i))), b.getInt32Ty());
  b.CreateRet(b.CreateOr(words[0], b.CreateShl(words[1], 16)));
}

}  // namespace

void defineHostBodies(llvm::Module& module) {
  for (const DType dtype : {DType::bf16, DType::f16})
    if (llvm::Function* f = module.getFunction(fmt::format("{}.{}", kPackSymbol, name(dtype)))) definePacked(*f, dtype);
  const auto isNamed = [](const llvm::Function& f) {
    return f.isDeclaration() && llvm::any_of(std::array{kWaitSymbol, kGroupWaitSymbol, kGroupMmaSymbol, kCopyBoxSymbol,
                                                        kMmaSymbol, kRegisterLimitSymbol},
                                             [&](const char* name) { return f.getName().starts_with(name); });
  };
  std::vector<llvm::Function*> named;
  for (llvm::Function& f : module)
    if (isNamed(f)) named.push_back(&f);
  for (llvm::Function* f : named) {
    const llvm::StringRef name = f->getName();
    if (name.starts_with(kWaitSymbol)) {
      forward(module, *f, kWaitSymbol, std::array{groupsNamed(name)});
      continue;
    }
    if (name.starts_with(kRegisterLimitSymbol)) {
      defineEmpty(*f);
      continue;
    }
    if (name.starts_with(kGroupWaitSymbol)) {
      forward(module, *f, kGroupWaitSymbol, std::array{groupWaitNamed(name).groups});
      continue;
    }
    if (name.starts_with(kMmaSymbol)) {
      forward(module, *f, kMmaSymbol, std::array{static_cast<int>(mmaNamed(name))});
      continue;
    }
    if (name.starts_with(kCopyBoxSymbol)) {
      forwardBox(module, *f);
      continue;
    }
    const GroupProduct p = groupProductNamed(f->getName());
    if (p.lhsInRegisters) {
      forward(module, *f, kLeftGroupMmaSymbol,
              std::array{p.columns, static_cast<int>(p.dtype), int{p.rhsDepthInner}, p.rhsStride});
      continue;
    }
    forward(module, *f, kGroupMmaSymbol,
            std::array{p.columns, static_cast<int>(p.dtype), int{p.lhsDepthInner}, int{p.rhsDepthInner}, p.lhsStride,
                       p.rhsStride});
  }
}

}  // namespace smalti::gpu
