#include "cpu/emit/SharedLoop.h"

#include "cpu/emit/NativeLowering.h"
#include "cpu/emit/Streaming.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/CodeExtractor.h"

namespace smalti::cpu {
namespace {

using Blocks = llvm::SmallVector<llvm::BasicBlock*, 16>;

/// The blocks of the region, its first one first; empty: it is entered or left elsewhere, or calls the runtime, whose
/// state belongs to one thread.
Blocks blocksOf(const SharedRegion& region) {
  Blocks blocks{region.first};
  llvm::SmallPtrSet<llvm::BasicBlock*, 16> known{region.first};
  for (size_t i = 0; i < blocks.size(); ++i)
    for (llvm::BasicBlock* next : llvm::successors(blocks[i]))
      if (next != region.after && known.insert(next).second) blocks.push_back(next);
  for (llvm::BasicBlock* block : blocks) {
    if (llvm::succ_empty(block)) return {};
    if (block != region.first)
      for (llvm::BasicBlock* before : llvm::predecessors(block))
        if (!known.contains(before)) return {};
    for (const llvm::Instruction& i : *block)
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&i)) {
        const llvm::Function* callee = call->getCalledFunction();
        if (!callee || (callee->isDeclaration() && !callee->isIntrinsic())) return {};
      }
  }
  return blocks;
}

/// Moves memory that only the region uses into it, so that each thread has its own.
void moveAllocas(const Blocks& blocks) {
  const llvm::SmallPtrSet<const llvm::BasicBlock*, 16> inside(blocks.begin(), blocks.end());
  llvm::BasicBlock& entry = blocks.front()->getParent()->getEntryBlock();
  for (llvm::Instruction& i : llvm::make_early_inc_range(entry)) {
    if (!llvm::isa<llvm::AllocaInst>(i) || i.use_empty()) continue;
    const bool own = llvm::all_of(i.users(), [&](const llvm::User* user) {
      return inside.contains(llvm::cast<llvm::Instruction>(user)->getParent());
    });
    if (own) i.moveBefore(*blocks.front(), blocks.front()->getFirstInsertionPt());
  }
}

/// Computes places in the arena inside the region, instead of receiving them: LLVM then sees that places at different
/// offsets do not overlap.
void computePlacesInside(const Blocks& blocks, Reg arenaBase) {
  const llvm::SmallPtrSet<const llvm::BasicBlock*, 16> inside(blocks.begin(), blocks.end());
  llvm::BasicBlock& first = *blocks.front();
  for (llvm::User* user : llvm::SmallVector<llvm::User*, 32>(arenaBase->users())) {
    auto* place = llvm::dyn_cast<llvm::GetElementPtrInst>(user);
    if (!place || place->getPointerOperand() != arenaBase || !place->hasAllConstantIndices() ||
        inside.contains(place->getParent()))
      continue;
    const auto isInside = [&](llvm::Use& use) {
      return inside.contains(llvm::cast<llvm::Instruction>(use.getUser())->getParent());
    };
    if (llvm::none_of(place->uses(), isInside)) continue;
    llvm::Instruction* copy = place->clone();
    copy->insertInto(&first, first.getFirstInsertionPt());
    place->replaceUsesWithIf(copy, isInside);
  }
}

void moveAllocasToEntry(llvm::Function& function) {
  llvm::BasicBlock& entry = function.getEntryBlock();
  for (llvm::BasicBlock& block : function)
    if (&block != &entry)
      for (llvm::Instruction& i : llvm::make_early_inc_range(block))
        if (llvm::isa<llvm::AllocaInst>(i)) i.moveBefore(entry, entry.getFirstInsertionPt());
}

void outline(NativeLowering& l, const SharedRegion& region, const llvm::CodeExtractorAnalysisCache& cache) {
  const Blocks blocks = blocksOf(region);
  if (blocks.empty()) return;
  moveAllocas(blocks);
  computePlacesInside(blocks, l.arenaBase);
  llvm::CodeExtractor extractor(blocks, nullptr, /*AggregateArgs=*/true, nullptr, nullptr, nullptr,
                                /*AllowVarArgs=*/false, /*AllowAlloca=*/true, nullptr, "shared");
  extractor.excludeArgFromAggregate(region.range);
  if (!extractor.isEligible()) return;
  llvm::SetVector<llvm::Value*> inputs, outputs;
  extractor.findInputsOutputs(inputs, outputs, {});
  if (!outputs.empty() || inputs.size() < 2) return;
  llvm::Function* made = extractor.extractCodeRegion(cache);
  if (!made) return;
  made->setLinkage(llvm::GlobalValue::InternalLinkage);
  made->addFnAttr(llvm::Attribute::NoInline);
  moveAllocasToEntry(*made);
  fenceStreaming(*made);
  auto* call = llvm::cast<llvm::CallInst>(*made->user_begin());
  Builder b(call);
  auto* pointer = b.getPtrTy();
  const llvm::FunctionCallee share = l.module.getOrInsertFunction(
      kShareSymbol, llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, pointer, b.getInt64Ty()}, false));
  b.CreateCall(share, {l.context, made, call->getArgOperand(1), b.getInt64(static_cast<uint64_t>(region.count))});
  call->eraseFromParent();
}

}  // namespace

void emitShared(NativeLowering& l, int64_t count, const std::function<void(Reg, Reg)>& body) {
  Builder& b = l.b;
  auto* type = llvm::ArrayType::get(b.getInt64Ty(), 2);
  SharedRegion region{.count = count};
  llvm::BasicBlock& entry = l.function->getEntryBlock();
  region.range = Builder(&entry, entry.begin()).CreateAlloca(type);
  const auto slot = [&](uint64_t i) { return b.CreateConstInBoundsGEP2_64(type, region.range, 0, i); };
  b.CreateStore(l.index(0), slot(0));
  b.CreateStore(l.index(count), slot(1));
  region.first = llvm::BasicBlock::Create(b.getContext(), "shared", l.function);
  b.CreateBr(region.first);
  b.SetInsertPoint(region.first);
  Reg first = b.CreateLoad(b.getInt64Ty(), slot(0));
  Reg last = b.CreateLoad(b.getInt64Ty(), slot(1));
  body(first, last);
  region.after = llvm::BasicBlock::Create(b.getContext(), "shared.after", l.function);
  b.CreateBr(region.after);
  b.SetInsertPoint(region.after);
  l.shared.push_back(region);
}

void outlineShared(NativeLowering& l) {
  if (l.shared.empty()) return;
  const llvm::CodeExtractorAnalysisCache cache(*l.function);  // reads the whole function
  for (const SharedRegion& region : l.shared) outline(l, region, cache);
}

}  // namespace smalti::cpu
