#include "gpu/emit/BlockRunCode.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::gpu {

/// i32: the coordinate of an output's block that tells runs apart. Lookups outside scalar prefetch are clamped; the
/// step that does them ends the call.
tl::expected<Reg, cpu::Unsupported> BlockRunCode::coordinateAt(size_t output, Reg step) {
  mlir::func::FuncOp map = arguments_.indexMap(*arguments_.windowOf(arguments_.numInputs() + output));
  mlir::Block& body = map.getBody().front();
  for (unsigned a = static_cast<unsigned>(arguments_.gridRank()); a < body.getNumArguments(); ++a)
    l_.setRef(body.getArgument(a), View(l_.ref(arguments_.function().getArgument(a))));
  llvm::DenseMap<mlir::Value, Reg> known;
  known[body.getArgument(static_cast<unsigned>(axis()))] = b_.CreateTrunc(step, b_.getInt32Ty());
  const auto coordinate = static_cast<unsigned>(l_.plan.runs->coordinates[output]);
  if (Reg r = l_.scalarFrom(body.getTerminator()->getOperand(coordinate), known)) return r;
  return cpu::unsupported("an index map that device code does not follow");
}

/// i1: whether all coordinates are greater than at the step before, and whether one is less.
tl::expected<std::pair<Reg, Reg>, cpu::Unsupported> BlockRunCode::changesBefore(Reg step) {
  Reg before = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(step, b_.getInt64(1)), b_.getInt64(0));
  Reg allGreater = b_.getTrue(), anyLess = b_.getFalse();
  for (size_t o = 0; o < arguments_.numOutputs(); ++o) {
    const auto now = coordinateAt(o, step), last = coordinateAt(o, before);
    if (!now) return tl::unexpected(now.error());
    if (!last) return tl::unexpected(last.error());
    allGreater = b_.CreateAnd(allGreater, b_.CreateICmpSGT(*now, *last));
    anyLess = b_.CreateOr(anyLess, b_.CreateICmpSLT(*now, *last));
  }
  return std::pair(allGreater, anyLess);
}

NativeResult BlockRunCode::begin(Reg points, int threads) {
  ascends_ = b_.getTrue();
  if (l_.plan.runs->isProved) return {};
  flag_ = l_.allocate(DType::i32, {});
  l_.byOneThread([&] { b_.CreateStore(b_.getInt32(1), flag_.base); });
  l_.device.barrier(b_);
  NativeResult ok;
  Reg first = b_.CreateAdd(b_.CreateZExt(l_.thread, b_.getInt64Ty()), b_.getInt64(1));
  Reg end = b_.CreateSelect(b_.CreateICmpSGT(points, b_.getInt64(0)), l_.gridBounds[axis()], b_.getInt64(0));
  l_.loop(first, end, l_.index(threads), [&](Reg step) {
    const auto changes = changesBefore(step);
    if (changes)
      l_.when(changes->second, [&] { b_.CreateStore(b_.getInt32(0), flag_.base); });
    else
      ok = tl::unexpected(changes.error());
  });
  l_.device.barrier(b_);
  ascends_ = b_.CreateICmpNE(b_.CreateLoad(b_.getInt32Ty(), flag_.base), b_.getInt32(0));
  return ok;
}

/// i1: whether a run begins at this step.
tl::expected<Reg, cpu::Unsupported> BlockRunCode::beginsAt(Reg step) {
  const auto changes = changesBefore(step);
  if (!changes) return tl::unexpected(changes.error());
  return b_.CreateOr(b_.CreateICmpEQ(step, b_.getInt64(0)), b_.CreateAnd(ascends_, changes->first));
}

tl::expected<BlockRun, cpu::Unsupported> BlockRunCode::at(Reg step) {
  Reg end = l_.slot(b_.getInt64Ty());
  b_.CreateStore(step, end);
  const auto begins = beginsAt(step);
  if (!begins) return tl::unexpected(begins.error());
  tl::expected<Reg, cpu::Unsupported> nextBegins;
  l_.when(*begins, [&] {
    auto *extend = llvm::BasicBlock::Create(b_.getContext(), "extend", l_.function),
         *after = llvm::BasicBlock::Create(b_.getContext(), "extended", l_.function);
    b_.CreateBr(extend);
    b_.SetInsertPoint(extend);
    Reg next = b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), end), b_.getInt64(1));
    b_.CreateStore(next, end);
    nextBegins = beginsAt(next);
    if (!nextBegins) return;
    Reg isLast = b_.CreateOr(b_.CreateICmpSGE(next, l_.gridBounds[axis()]), *nextBegins);
    b_.CreateCondBr(isLast, after, extend);
    b_.SetInsertPoint(after);
  });
  if (!nextBegins) return tl::unexpected(nextBegins.error());
  return BlockRun{step, b_.CreateLoad(b_.getInt64Ty(), end)};
}

}  // namespace smalti::gpu
