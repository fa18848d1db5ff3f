#include "cpu/emit/elements/Atomic.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"

namespace smalti::cpu {
namespace {

using llvm::AtomicRMWInst;

constexpr auto kRelaxed = llvm::AtomicOrdering::Monotonic;
const llvm::Align kAtomicAlign(4);

Reg asBits(Builder& b, Reg r) { return b.CreateBitCast(r, b.getInt32Ty()); }

/// The bits before, and whether the new ones have been stored.
std::pair<Reg, Reg> exchangeIf(Builder& b, Reg pointer, Reg expected, Reg bits, llvm::SyncScope::ID scope) {
  Reg both = b.CreateAtomicCmpXchg(pointer, expected, bits, kAtomicAlign, kRelaxed, kRelaxed, scope);
  return {b.CreateExtractValue(both, 0), b.CreateExtractValue(both, 1)};
}

/// The maximum or minimum of floats, for which processors have no instruction: tries again until no other update
/// has happened in between.
Reg updateFloat(Builder& b, llvm::Intrinsic::ID combine, Reg pointer, Reg value, llvm::SyncScope::ID scope) {
  auto& c = b.getContext();
  auto* function = b.GetInsertBlock()->getParent();
  auto* first = b.CreateAlignedLoad(b.getInt32Ty(), pointer, kAtomicAlign);
  first->setAtomic(kRelaxed, scope);
  auto* before = b.GetInsertBlock();
  auto* again = llvm::BasicBlock::Create(c, "update", function);
  auto* done = llvm::BasicBlock::Create(c, "updated", function);
  b.CreateBr(again);
  b.SetInsertPoint(again);
  auto* seen = b.CreatePHI(b.getInt32Ty(), 2);
  seen->addIncoming(first, before);
  Reg made = b.CreateBinaryIntrinsic(combine, b.CreateBitCast(seen, b.getFloatTy()), value);
  const auto [was, isThere] = exchangeIf(b, pointer, seen, asBits(b, made), scope);
  seen->addIncoming(was, again);
  b.CreateCondBr(isThere, done, again);
  b.SetInsertPoint(done);
  return b.CreateBitCast(seen, b.getFloatTy());
}

AtomicRMWInst::BinOp instructionFor(AtomicKind kind, bool isFloat) {
  switch (kind) {
    case AtomicKind::add:
      return isFloat ? AtomicRMWInst::FAdd : AtomicRMWInst::Add;
    case AtomicKind::max:
      return AtomicRMWInst::Max;
    case AtomicKind::min:
      return AtomicRMWInst::Min;
    case AtomicKind::unsignedMax:
      return AtomicRMWInst::UMax;
    case AtomicKind::unsignedMin:
      return AtomicRMWInst::UMin;
    case AtomicKind::bitAnd:
      return AtomicRMWInst::And;
    case AtomicKind::bitOr:
      return AtomicRMWInst::Or;
    case AtomicKind::bitXor:
      return AtomicRMWInst::Xor;
    default:
      return AtomicRMWInst::Xchg;
  }
}

}  // namespace

Reg updateAtomically(Builder& b, AtomicKind kind, DType t, Reg pointer, Reg value, Reg expected,
                     llvm::StringRef scopeName) {
  const llvm::SyncScope::ID scope = scopeName.empty() ? llvm::SyncScope::ID{llvm::SyncScope::System}
                                                      : b.getContext().getOrInsertSyncScopeID(scopeName);
  const bool isFloat = is_float(t);
  if (kind == AtomicKind::compareExchange) {
    Reg was = exchangeIf(b, pointer, asBits(b, expected), asBits(b, value), scope).first;
    return isFloat ? b.CreateBitCast(was, b.getFloatTy()) : was;
  }
  if (isFloat && (kind == AtomicKind::max || kind == AtomicKind::min))
    return updateFloat(b, kind == AtomicKind::max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, pointer, value,
                       scope);
  return b.CreateAtomicRMW(instructionFor(kind, isFloat), pointer, value, kAtomicAlign, kRelaxed, scope);
}

}  // namespace smalti::cpu
