#include "cpu/lower/Streaming.h"

#include <algorithm>

#include "cpu/gemm/Ir.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsMemory.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/IndexMaps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Local.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {
namespace {

bool isPlainStore(mlir::Operation& op, mlir::Value ref) {
  return llvm::isa<tpu::VectorStoreOp, mlir::vector::StoreOp>(op) && op.getOperand(1) == ref &&
         op.getOperand(0) != ref && !boolAttribute(op, "add");
}

/// Under a condition: kernels that store to a block in one of several steps say so.
bool isConditional(mlir::Operation& op) { return llvm::isa_and_present<mlir::scf::IfOp>(op.getParentOp()); }

bool storedOnce(const KernelPackage& package, const Window& window, mlir::Value ref) {
  const KernelArguments arguments(package);
  const IndexMapFacts map(arguments.indexMap(window), arguments.gridRank());
  const std::vector<bool> told = injectiveAxes(map, window, package.signature.grid);
  const bool once = std::ranges::all_of(told, [](bool t) { return t; });
  return llvm::all_of(ref.getUsers(), [&](mlir::Operation* user) {
    return isPlainStore(*user, ref) && (once || isConditional(*user));
  });
}

}  // namespace

bool exceedsCaches(int64_t bytes, const Processor& processor) {
  // Half of the last cache; where that is bigger, a core has not all of it to itself.
  constexpr int64_t kLargestShare = 16 << 20;
  return bytes >= std::min(processor.l3Bytes / 2, kLargestShare);
}

std::vector<bool> worthStreaming(const KernelPackage& package, const Processor& processor) {
  const KernelArguments arguments(package);
  std::vector<bool> worth(package.results.size(), false);
  if (!llvm::Triple(processor.triple).isX86()) return worth;
  for (size_t i = 0; i < worth.size(); ++i) {
    const auto& window = arguments.windowOf(arguments.numInputs() + i);
    if (!window || window->elementIndexed || arguments.isAliased(i) ||
        !exceedsCaches(package.results[i].bytes(), processor))
      continue;
    worth[i] = storedOnce(package, *window, arguments.output(i));
  }
  return worth;
}

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

void finishStreaming(llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  bool any = false;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block) {
      auto* store = llvm::dyn_cast<llvm::StoreInst>(&i);
      if (!store || !store->hasMetadata(llvm::LLVMContext::MD_nontemporal)) continue;
      const uint64_t bytes = layout.getTypeStoreSize(store->getValueOperand()->getType()).getFixedValue();
      const llvm::Align needed(std::min<uint64_t>(llvm::PowerOf2Ceil(bytes), kLineBytes));
      // Known only now: a loop's variable has its second value when the loop is complete.
      if (bytes >= kLineBytes / 2 && llvm::getKnownAlignment(store->getPointerOperand(), layout) >= needed) {
        store->setAlignment(needed);
        any = true;
      } else {
        store->setMetadata(llvm::LLVMContext::MD_nontemporal, nullptr);
      }
    }
  if (!any) return;
  for (llvm::BasicBlock& block : function)
    if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
      llvm::IRBuilder<>(end).CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {});
}

}  // namespace smalti::cpu
