#include "cpu/jit/SplitFunctions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
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

/// In instructions: code between large loops is divided into pieces of about this size, smaller ones stay where they
/// are. A kernel of 98,000 instructions without such loops took 10.2 s to compile, 3.3 to 3.8 s in pieces of 1,000 to
/// 4,000, and was as fast.
constexpr unsigned kPiece = 2'000, kSmallPiece = 500;

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

/// Computes constant distances from an address where they are used: there they cost nothing, but each that is computed
/// once for all loops (by licm) is a value that is live from then on, and an argument of what is extracted.
void sinkAddresses(llvm::Function& function) {
  for (llvm::BasicBlock* block : llvm::post_order(&function))
    for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::reverse(*block))) {
      auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&i);
      if (!address || !address->hasAllConstantIndices()) continue;
      for (llvm::Use& use : llvm::make_early_inc_range(address->uses())) {
        auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        if (user->getParent() == block || llvm::isa<llvm::PHINode>(user)) continue;
        llvm::Instruction* copy = address->clone();
        copy->insertBefore(user->getIterator());
        use.set(copy);
      }
      if (address->use_empty()) address->eraseFromParent();
    }
}

/// Code that is entered at its first block.
using Region = std::vector<llvm::BasicBlock*>;

void extract(llvm::Function& function, const std::vector<Region>& regions, llvm::DominatorTree& dominators) {
  const llvm::CodeExtractorAnalysisCache cache(function);
  for (const Region& region : regions) {
    llvm::CodeExtractor extractor(region, &dominators);
    if (!extractor.isEligible()) continue;
    if (llvm::Function* extracted = extractor.extractCodeRegion(cache)) {
      extracted->setLinkage(llvm::GlobalValue::InternalLinkage);
      extracted->addFnAttr(llvm::Attribute::NoInline);
    }
  }
}

void splitLoops(llvm::Function& function) {
  llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  std::vector<llvm::Loop*> chosen;
  collect(loops.getTopLevelLoops(), chosen);
  std::vector<Region> regions;
  for (const llvm::Loop* loop : chosen) regions.emplace_back(loop->getBlocks());
  extract(function, regions, dominators);
}

/// Divides what is not in small loops. From the function's entry, a chain leads from each block to the heaviest that it
/// dominates immediately; what the beginning of a part of the chain dominates, and its end does not, is a region.
class Pieces {
 public:
  Pieces(llvm::DominatorTree& dominators, const llvm::LoopInfo& loops) : dominators_(dominators), loops_(loops) {}

  std::vector<Region> collect() {
    for (const llvm::DomTreeNode* node : llvm::post_order(dominators_.getRootNode())) {
      unsigned& weight = weights_[node] = static_cast<unsigned>(node->getBlock()->size());
      for (const llvm::DomTreeNode* child : node->children()) weight += weights_[child];
    }
    if (const llvm::DomTreeNode* first = next(dominators_.getRootNode())) starts_.push_back(first);  // not allocations
    while (!starts_.empty()) {
      const llvm::DomTreeNode* start = starts_.back();
      starts_.pop_back();
      follow(start);
    }
    return std::move(regions_);
  }

 private:
  /// The chain from there on.
  void follow(const llvm::DomTreeNode* begin) {
    for (const llvm::DomTreeNode* node = begin; node; node = next(node)) {
      const llvm::DomTreeNode* end = next(node);
      for (const llvm::DomTreeNode* child : node->children())
        if (isChain(child, end)) starts_.push_back(child);
      // A loop's header is entered from the loop's end, too.
      const bool leaves = end && (largeLoop(end) != largeLoop(begin) || isHeader(end));
      const bool isLong = end && weightOf(begin) - weightOf(end) >= kPiece && !isInSmallLoop(end);
      if (end && !leaves && !isLong && !isHeader(begin)) continue;
      if (!isHeader(begin)) add(begin, end);
      begin = end;
    }
  }
  /// Next to the chain, too much for one region.
  bool isChain(const llvm::DomTreeNode* child, const llvm::DomTreeNode* end) const {
    return child != end && weightOf(child) > kLargeLoop;
  }

  unsigned weightOf(const llvm::DomTreeNode* node) const { return weights_.lookup(node); }
  const llvm::DomTreeNode* next(const llvm::DomTreeNode* node) const {
    const llvm::DomTreeNode* heaviest = nullptr;
    for (const llvm::DomTreeNode* child : node->children())
      if (!heaviest || weightOf(child) > weightOf(heaviest)) heaviest = child;
    return heaviest;
  }
  /// The innermost loop around the block that is too large for a function.
  const llvm::Loop* largeLoop(const llvm::DomTreeNode* node) {
    const llvm::Loop* loop = loops_.getLoopFor(node->getBlock());
    while (loop && !isLarge(loop)) loop = loop->getParentLoop();
    return loop;
  }
  bool isLarge(const llvm::Loop* loop) {
    const auto [known, isNew] = isLarge_.try_emplace(loop, false);
    if (isNew) known->second = instructionsOf(*loop) > kLargeLoop;
    return known->second;
  }
  bool isHeader(const llvm::DomTreeNode* node) {
    const llvm::Loop* loop = largeLoop(node);
    return loop && loop->getHeader() == node->getBlock();
  }
  bool isInSmallLoop(const llvm::DomTreeNode* node) { return loops_.getLoopFor(node->getBlock()) != largeLoop(node); }

  /// All that `begin` dominates and `end` does not, but for returns, which stay where they are, and for what is entered
  /// from elsewhere.
  void add(const llvm::DomTreeNode* begin, const llvm::DomTreeNode* end) {
    Region region;
    llvm::DenseSet<const llvm::BasicBlock*> isInside;
    std::vector<const llvm::DomTreeNode*> rest{begin};
    while (!rest.empty()) {
      const llvm::DomTreeNode* node = rest.back();
      rest.pop_back();
      if (node == end || (node != begin && std::ranges::find(starts_, node) != starts_.end())) continue;
      llvm::BasicBlock* block = node->getBlock();
      if (block->getTerminator()->getNumSuccessors() > 0 && isInside.insert(block).second) region.push_back(block);
      rest.insert(rest.end(), node->begin(), node->end());
    }
    const auto isEnteredFromElsewhere = [&](llvm::BasicBlock* block) {
      return block != begin->getBlock() &&
             !llvm::all_of(llvm::predecessors(block), [&](const auto* from) { return isInside.contains(from); }) &&
             isInside.erase(block);
    };
    while (std::erase_if(region, isEnteredFromElsewhere) > 0) {
    }
    unsigned size = 0;
    for (const llvm::BasicBlock* block : region) size += static_cast<unsigned>(block->size());
    if (size >= kSmallPiece && region.front() == begin->getBlock()) regions_.push_back(std::move(region));
  }

  llvm::DominatorTree& dominators_;
  const llvm::LoopInfo& loops_;
  llvm::DenseMap<const llvm::DomTreeNode*, unsigned> weights_;
  llvm::DenseMap<const llvm::Loop*, bool> isLarge_;
  std::vector<const llvm::DomTreeNode*> starts_;  ///< of chains that are still to follow
  std::vector<Region> regions_;
};

void splitStraightCode(llvm::Function& function) {
  llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  extract(function, Pieces(dominators, loops).collect(), dominators);
}

}  // namespace

void splitLargeFunctions(llvm::Module& module) {
  std::vector<llvm::Function*> large;
  for (llvm::Function& function : module)
    if (function.getInstructionCount() >= kLargeFunction) large.push_back(&function);
  for (llvm::Function* function : large) {
    splitLoops(*function);  // with addresses as arguments: loops at several addresses can be equal
    sinkAddresses(*function);
    if (function->getInstructionCount() >= kLargeFunction) splitStraightCode(*function);
  }
  // Unrolled code has many equal loops: two thirds of 939 in one kernel.
  if (!large.empty()) llvm::MergeFunctionsPass::runOnModule(module);
}

}  // namespace smalti::cpu
