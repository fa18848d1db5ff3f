#include "cpu/emit/Streaming.h"

#include <algorithm>

#include "cpu/Processor.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Local.h"

namespace smalti::cpu {

void assumeLineAligned(llvm::LoadInst& pointer) {
  llvm::MDBuilder metadata(pointer.getContext());
  auto* bytes = llvm::ConstantInt::get(llvm::Type::getInt64Ty(pointer.getContext()), kLineBytes);
  pointer.setMetadata(llvm::LLVMContext::MD_align,
                      llvm::MDNode::get(pointer.getContext(), metadata.createConstant(bytes)));
}

void mayStream(llvm::Instruction& store) {
  auto* one = llvm::ConstantInt::get(llvm::Type::getInt32Ty(store.getContext()), 1);
  store.setMetadata(llvm::LLVMContext::MD_nontemporal,
                    llvm::MDNode::get(store.getContext(), llvm::ConstantAsMetadata::get(one)));
}

void fenceStreaming(llvm::Function& function) {
  bool any = false;
  for (const llvm::BasicBlock& block : function)
    for (const llvm::Instruction& i : block)
      any |= llvm::isa<llvm::StoreInst>(i) && i.hasMetadata(llvm::LLVMContext::MD_nontemporal);
  if (!any) return;
  for (llvm::BasicBlock& block : function)
    if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
      llvm::IRBuilder<>(end).CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {});
}

void finishStreaming(llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block) {
      auto* store = llvm::dyn_cast<llvm::StoreInst>(&i);
      if (!store || !store->hasMetadata(llvm::LLVMContext::MD_nontemporal)) continue;
      const uint64_t bytes = layout.getTypeStoreSize(store->getValueOperand()->getType()).getFixedValue();
      const llvm::Align needed(std::min<uint64_t>(llvm::PowerOf2Ceil(bytes), kLineBytes));
      // Decided only here: a loop's phi has its second incoming value once the loop is complete.
      if (bytes >= kLineBytes / 2 && llvm::getKnownAlignment(store->getPointerOperand(), layout) >= needed) {
        store->setAlignment(needed);
      } else {
        store->setMetadata(llvm::LLVMContext::MD_nontemporal, nullptr);
      }
    }
  fenceStreaming(function);
}

}  // namespace smalti::cpu
