#include "cpu/nest/ModuloSchedule.h"

#include <algorithm>
#include <optional>

#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

namespace smalti::cpu {
namespace {

// Fitted with `./do bench cpu` on the processor that docs/performance.md names.

/// Cycles of the longest chain of dependent ops, and iterations, below which the code before and after the scheduled
/// loop costs more than the overlap gains.
constexpr int kMinChainCycles = 24, kMinIterations = 4;

/// Cycles until others can use the result, roughly.
int latencyOf(const llvm::Instruction& i) {
  if (i.getOpcode() == llvm::Instruction::FDiv) return 12;
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) {
    if (call->getIntrinsicID() == llvm::Intrinsic::fabs || call->getIntrinsicID() == llvm::Intrinsic::copysign)
      return 1;
    return call->getIntrinsicID() == llvm::Intrinsic::sqrt ? 16 : 4;
  }
  if (llvm::isa<llvm::LoadInst>(i)) return 4;
  return i.getType()->isFPOrFPVectorTy() && (i.isBinaryOp() || llvm::isa<llvm::SelectInst>(i)) ? 3 : 1;
}

llvm::Value* renamed(llvm::ValueToValueMapTy& values, llvm::Value* v) {
  auto at = values.find(v);
  return at == values.end() ? v : static_cast<llvm::Value*>(at->second);
}

class ModuloScheduler {
 public:
  ModuloScheduler(const OneBlockLoop& l, const Processor& p) : l_(l), processor_(p) {}

  bool pays() {
    measure();
    if (longest_ < kMinChainCycles || l_.end / l_.step < kMinIterations) return false;
    // Choose the cut near the middle with the fewest values live across it.
    std::optional<int64_t> best;
    for (int depth = longest_ * 2 / 5; depth <= longest_ * 3 / 5; ++depth) {
      const int64_t registers = registersAcross(depth);
      if (best && registers >= *best) continue;
      best = registers;
      cut_ = depth;
    }
    return best && *best <= processor_.vectorRegisters * 9 / 16;
  }

  llvm::SmallVector<Reg, 8> rebuild(llvm::ArrayRef<Reg> wanted) {
    llvm::IRBuilder<> b(l_.body->getContext());
    const auto number = [&](int64_t n) {
      return llvm::ConstantInt::get(l_.index->getType(), static_cast<uint64_t>(n));
    };
    auto* steady = llvm::BasicBlock::Create(b.getContext(), "columns", l_.body->getParent(), l_.after);

    llvm::ValueToValueMapTy first;
    first[l_.index] = number(0);
    llvm::Instruction* enter = l_.before->getTerminator();
    clone(true, first, *l_.before, enter);
    enter->setSuccessor(0, steady);

    llvm::ValueToValueMapTy early, late;
    b.SetInsertPoint(steady);
    llvm::PHINode* index = b.CreatePHI(l_.index->getType(), 2);
    std::vector<std::pair<llvm::PHINode*, llvm::Value*>> phis;
    for (llvm::PHINode& old : l_.body->phis()) {
      if (&old == l_.index) continue;
      auto* phi = b.CreatePHI(old.getType(), 2);
      phi->addIncoming(old.getIncomingValueForBlock(l_.before), l_.before);
      late[&old] = phi;
      phis.push_back({phi, old.getIncomingValueForBlock(l_.body)});
    }
    std::vector<std::pair<llvm::PHINode*, llvm::Instruction*>> across;
    for (llvm::Instruction* i : crossing(cut_)) {
      auto* phi = b.CreatePHI(typeAcross(*i), 2);
      phi->addIncoming(toAcross(first[i], *phi, enter), l_.before);
      across.push_back({phi, i});
    }
    for (auto& [phi, i] : across) late[i] = fromAcross(b, phi, *i);
    llvm::Value* next = b.CreateAdd(index, number(l_.step), "", true, true);
    index->addIncoming(number(0), l_.before);
    index->addIncoming(next, steady);
    early[l_.index] = next;
    late[l_.index] = index;
    llvm::Instruction* again = b.CreateCondBr(b.CreateICmpULT(next, number(l_.end - l_.step)), steady, l_.after);
    auto* test = llvm::cast<llvm::Instruction>(again->getOperand(0));
    clone(true, early, *steady, test);
    clone(false, late, *steady, test);

    llvm::ValueToValueMapTy last;
    last[l_.index] = number(l_.end - l_.step);
    for (llvm::PHINode& old : l_.body->phis())
      if (&old != l_.index) last[&old] = renamed(late, old.getIncomingValueForBlock(l_.body));
    for (auto& [phi, old] : phis) phi->addIncoming(renamed(late, old), steady);
    for (auto& [phi, i] : across) {
      phi->addIncoming(toAcross(early[i], *phi, test), steady);
      last[i] = early[i];
    }
    clone(false, last, *l_.after, nullptr);

    llvm::SmallVector<Reg, 8> now;
    for (Reg v : wanted) now.push_back(renamed(last, v));
    l_.body->dropAllReferences();
    l_.body->eraseFromParent();
    return now;
  }

 private:
  bool isOp(const llvm::Instruction& i) const { return !llvm::isa<llvm::PHINode>(i) && !i.isTerminator(); }
  /// Whether an instruction depends on the index alone, as addresses and loads do; both halves compute it.
  bool isCheap(llvm::Instruction& i) const { return cheap_.contains(&i); }

  void measure() {
    bool stored = false;
    for (llvm::Instruction& i : *l_.body) {
      if (!isOp(i)) continue;
      stored |= i.mayHaveSideEffects();
      bool movable = !i.mayHaveSideEffects() && !(stored && i.mayReadFromMemory());
      bool ofIndex = llvm::isa<llvm::LoadInst>(i) || (!i.getType()->isVectorTy() && !i.mayReadOrWriteMemory());
      int depth = 0;
      for (llvm::Value* operand : i.operands()) {
        auto* maker = llvm::dyn_cast<llvm::Instruction>(operand);
        if (!maker || maker->getParent() != l_.body || maker == l_.index) continue;
        auto at = depths_.find(maker);
        movable &= at != depths_.end();
        ofIndex &= cheap_.contains(maker);
        if (at != depths_.end()) depth = std::max(depth, at->second);
      }
      if (!movable) continue;
      if (ofIndex) cheap_.insert(&i);
      depths_[&i] = depth + latencyOf(i);
      longest_ = std::max(longest_, depths_[&i]);
    }
  }

  bool isEarly(llvm::Instruction* i, int cut) const {
    auto at = depths_.find(i);
    return at != depths_.end() && at->second <= cut;
  }

  std::vector<llvm::Instruction*> crossing(int cut) const {
    std::vector<llvm::Instruction*> found;
    for (llvm::Instruction& i : *l_.body)
      if (isOp(i) && isEarly(&i, cut) && !isCheap(i) &&
          llvm::any_of(i.users(), [&](llvm::User* u) { return !isEarly(llvm::cast<llvm::Instruction>(u), cut); }))
        found.push_back(&i);
    return found;
  }
  int64_t registersAcross(int cut) const {
    const int64_t bits = 32 * processor_.lanes(4);
    int64_t registers = 0;
    for (llvm::Instruction* i : crossing(cut))
      registers += (static_cast<int64_t>(typeAcross(*i)->getPrimitiveSizeInBits().getFixedValue()) + bits - 1) / bits;
    return registers;
  }

  /// The type in which a value passes from one iteration to the next. LLVM would pack conditions into bytes where there
  /// are no registers for masks; floats of the compared width are what instructions compare and select.
  llvm::Type* typeAcross(const llvm::Instruction& i) const {
    auto* type = llvm::dyn_cast<llvm::FixedVectorType>(i.getType());
    const bool compares = llvm::isa<llvm::CmpInst>(i);
    if (!type || !compares || processor_.avx512 || i.getOperand(0)->getType()->getScalarSizeInBits() != 32)
      return i.getType();
    return llvm::FixedVectorType::get(llvm::Type::getFloatTy(i.getContext()), type->getNumElements());
  }
  /// -0 is true, 0 false. (LLVM moves conversions of a condition past a phi, but no selects.)
  static llvm::Value* toAcross(llvm::Value* v, const llvm::PHINode& phi, llvm::Instruction* before) {
    if (v->getType() == phi.getType()) return v;
    auto* no = llvm::Constant::getNullValue(phi.getType());
    return llvm::IRBuilder<>(before).CreateSelect(v, llvm::ConstantFP::getNegativeZero(phi.getType()), no);
  }
  static llvm::Value* fromAcross(llvm::IRBuilder<>& b, llvm::PHINode* phi, const llvm::Instruction& i) {
    if (phi->getType() == i.getType()) return phi;
    auto* type = llvm::cast<llvm::FixedVectorType>(phi->getType());
    auto* bits = llvm::FixedVectorType::get(b.getInt32Ty(), type->getNumElements());
    return b.CreateICmpSLT(b.CreateBitCast(phi, bits), llvm::Constant::getNullValue(bits));
  }

  /// Clones one half's ops and the cheap ops that it needs; unused cheap ops are dropped.
  void clone(bool early, llvm::ValueToValueMapTy& values, llvm::BasicBlock& into, llvm::Instruction* before) {
    for (llvm::Instruction& i : *l_.body) {
      if (!isOp(i) || (!isCheap(i) && isEarly(&i, cut_) != early) || (early && !isEarly(&i, cut_))) continue;
      llvm::Instruction* copy = i.clone();
      copy->insertInto(&into, before ? before->getIterator() : into.end());
      llvm::RemapInstruction(copy, values, llvm::RF_IgnoreMissingLocals | llvm::RF_NoModuleLevelChanges);
      values[&i] = copy;
    }
  }

  const OneBlockLoop& l_;
  const Processor& processor_;
  llvm::DenseSet<llvm::Instruction*> cheap_;
  llvm::DenseMap<llvm::Instruction*, int> depths_;  ///< of ops that can execute before the previous iteration finishes
  int longest_ = 0, cut_ = 0;
};

}  // namespace

llvm::SmallVector<Reg, 8> moduloSchedule(const OneBlockLoop& loop, const Processor& processor,
                                         llvm::ArrayRef<Reg> wanted) {
  ModuloScheduler overlap(loop, processor);
  if (!overlap.pays()) return {};
  return overlap.rebuild(wanted);
}

}  // namespace smalti::cpu
