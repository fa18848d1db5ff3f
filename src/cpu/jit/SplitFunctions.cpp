#include "cpu/jit/SplitFunctions.h"

#include <vector>

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/IPO/MergeFunctions.h"
#include "llvm/Transforms/Utils/CodeExtractor.h"

namespace smalti::cpu {
namespace {

/// In instructions. Functions with fewer compile fast enough, and keep their loops in view of each other.
constexpr unsigned kLargeFunction = 15'000;
/// In instructions: a loop with fewer is not worth a call, one with more is divided itself. Of 20, 30, 60 and 200 to
/// 5,000, these took the least time for two kernels of 80,000 and 105,000 instructions: 2.9 and 2.5 s; whole, they took
/// 13.0 and 15.9 s.
constexpr unsigned kSmallLoop = 20, kLargeLoop = 5'000;

unsigned instructionsOf(const llvm::Loop& loop) {
  unsigned count = 0;
  for (const llvm::BasicBlock* block : loop.blocks()) count += static_cast<unsigned>(block->size());
  return count;
}

/// The outermost loops that are small enough.
void collect(const std::vector<llvm::Loop*>& loops, std::vector<llvm::Loop*>& chosen) {
  for (llvm::Loop* loop : loops) {
    const unsigned size = instructionsOf(*loop);
    if (size > kLargeLoop)
      collect(loop->getSubLoops(), chosen);
    else if (size >= kSmallLoop)
      chosen.push_back(loop);
  }
}

void split(llvm::Function& function) {
  llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  std::vector<llvm::Loop*> chosen;
  collect(loops.getTopLevelLoops(), chosen);
  const llvm::CodeExtractorAnalysisCache cache(function);
  for (llvm::Loop* loop : chosen) {
    llvm::CodeExtractor extractor(loop->getBlocks(), &dominators);
    if (!extractor.isEligible()) continue;
    if (llvm::Function* extracted = extractor.extractCodeRegion(cache)) {
      extracted->setLinkage(llvm::GlobalValue::InternalLinkage);
      extracted->addFnAttr(llvm::Attribute::NoInline);
    }
  }
}

}  // namespace

void splitLargeFunctions(llvm::Module& module) {
  std::vector<llvm::Function*> large;
  for (llvm::Function& function : module)
    if (function.getInstructionCount() >= kLargeFunction) large.push_back(&function);
  for (llvm::Function* function : large) split(*function);
  // Unrolled code has many equal loops: two thirds of 939 in one kernel.
  if (!large.empty()) llvm::MergeFunctionsPass::runOnModule(module);
}

}  // namespace smalti::cpu
