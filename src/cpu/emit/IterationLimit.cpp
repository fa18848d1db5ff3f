#include "cpu/emit/IterationLimit.h"

#include "base/Arithmetic.h"
#include "cpu/runtime/CallLimits.h"
#include "cpu/runtime/KernelStatus.h"
#include "ir/TpuOpsSync.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ModRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace smalti::cpu {
namespace {

/// Loops with at most this many iterations are not counted, since they take less time than a grid step.
constexpr int64_t kUncountedIterations = 1024;
/// Iterations between two checks. A check takes as long as a few iterations of the shortest loops.
constexpr int64_t kIterationsPerCheck = 1024;
/// Iterations between two checks of a loop with long iterations.
constexpr int64_t kLongIterationsPerCheck = 16;

std::optional<int64_t> constantBound(mlir::Value v) {
  mlir::APInt value;
  if (!mlir::matchPattern(v, mlir::m_ConstantInt(&value))) return std::nullopt;
  return value.getSExtValue();
}

constexpr int64_t kMany = kUncountedIterations + 1;
int64_t constantIterations(mlir::Operation&);

/// One iteration of the loop, and those of its uncounted inner loops meanwhile.
int64_t iterationsPerIteration(mlir::Operation& loop) {
  int64_t all = 1;
  for (mlir::Region& region : loop.getRegions())
    region.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* inner) {
      if (!llvm::isa<mlir::scf::ForOp, mlir::scf::WhileOp>(inner)) return mlir::WalkResult::advance();
      if (const int64_t nested = constantIterations(*inner); nested < kMany) all += nested;
      return mlir::WalkResult::skip();
    });
  return all;
}

/// Iterations of a loop with constant bounds, including its uncounted inner loops; kMany: more than a few, or unknown.
int64_t constantIterations(mlir::Operation& op) {
  auto loop = llvm::dyn_cast<mlir::scf::ForOp>(op);
  if (!loop) return kMany;
  const auto lower = constantBound(loop.getLowerBound()), upper = constantBound(loop.getUpperBound()),
             step = constantBound(loop.getStep());
  int64_t distance = 0;
  if (!lower || !upper || !step || *step < 1 || __builtin_sub_overflow(*upper, *lower, &distance)) return kMany;
  const int64_t iterations = distance <= 0 ? 0 : (distance - 1) / *step + 1;
  return iterations > kUncountedIterations ? kMany : std::min(iterations * iterationsPerIteration(op), kMany);
}

/// Iterations with vector ops or copies take much longer than others.
bool isLong(mlir::Operation& loop) {
  return loop
      .walk([](mlir::Operation* op) {
        const bool vectors = llvm::any_of(op->getOperands(), isVector) || llvm::any_of(op->getResults(), isVector);
        return vectors || llvm::isa<tpu::EnqueueDMAOp>(op) ? mlir::WalkResult::interrupt()
                                                           : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

/// i32 look(ptr limits, i64 iterations): a KernelStatus.
llvm::Function* lookFunction(NativeLowering& l) {
  constexpr const char* kName = "smalti.look";
  if (llvm::Function* known = l.module.getFunction(kName)) return known;
  auto& c = l.b.getContext();
  Builder b(c);
  llvm::Function* function =
      l.newFunctionForRareCases(kName, llvm::FunctionType::get(b.getInt32Ty(), {b.getPtrTy(), b.getInt64Ty()}, false));
  function->addFnAttr(llvm::Attribute::Cold);
  // It does not access arrays, so that LLVM keeps what it knows about them.
  function->setMemoryEffects(llvm::MemoryEffects::inaccessibleOrArgMemOnly());
  b.SetInsertPoint(&function->getEntryBlock());
  Reg limits = function->getArg(0);
  Reg left = b.CreateSub(b.CreateLoad(b.getInt64Ty(), limits), function->getArg(1));
  b.CreateStore(left, limits);
  Reg flag =
      b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), limits, offsetof(CallLimits, stop)));
  auto* raised = b.CreateAlignedLoad(b.getInt8Ty(), flag, llvm::Align(1));
  raised->setAtomic(llvm::AtomicOrdering::Monotonic);
  const auto status = [&](KernelStatus s) { return b.getInt32(static_cast<uint32_t>(s)); };
  Reg ofRounds =
      b.CreateSelect(b.CreateICmpSLT(left, b.getInt64(0)), status(KernelStatus::stepLimit), status(KernelStatus::done));
  b.CreateRet(b.CreateSelect(b.CreateICmpEQ(raised, b.getInt8(0)), ofRounds, status(KernelStatus::stopped)));
  return function;
}

/// Iterations until the next check: one counter per function, which the optimiser keeps in a register.
Reg counterOf(NativeLowering& l) {
  if (l.iterationsToCheck) return l.iterationsToCheck;
  auto& entry = l.function->getEntryBlock();
  Builder at(&entry, entry.begin());
  l.iterationsToCheck = at.CreateAlloca(at.getInt64Ty());
  at.CreateStore(at.getInt64(kIterationsPerCheck), l.iterationsToCheck);
  l.function->addParamAttr(0, llvm::Attribute::NoAlias);
  return l.iterationsToCheck;
}

}  // namespace

bool countsIterations(mlir::Operation& loop) { return constantIterations(loop) > kUncountedIterations; }

void countIteration(NativeLowering& l, mlir::Operation& loop) {
  if (!l.options.countIterations || !countsIterations(loop)) return;
  Builder& b = l.b;
  Reg counter = counterOf(l);
  // Uncounted inner loops count with the iteration: each is short, but several levels of them are not.
  const int64_t inner = iterationsPerIteration(loop);
  const int64_t cost =
      std::min(inner * (isLong(loop) ? kIterationsPerCheck / kLongIterationsPerCheck : 1), kIterationsPerCheck);
  const int64_t iterations = ceilDiv(kIterationsPerCheck, cost) * inner;
  Reg left = b.CreateSub(b.CreateLoad(b.getInt64Ty(), counter), l.index(cost));
  b.CreateStore(left, counter);
  auto* look = llvm::BasicBlock::Create(b.getContext(), "look", l.function);
  auto* leave = llvm::BasicBlock::Create(b.getContext(), "leave", l.function);
  auto* on = llvm::BasicBlock::Create(b.getContext(), "continue", l.function);
  llvm::MDBuilder weights(b.getContext());
  b.CreateCondBr(b.CreateICmpSGT(left, l.index(0)), on, look, weights.createBranchWeights(1 << 20, 1));
  b.SetInsertPoint(look);
  llvm::Function* function = lookFunction(l);
  auto* status = b.CreateCall(function, {l.context, l.index(iterations)});
  status->setCallingConv(function->getCallingConv());
  b.CreateStore(l.index(kIterationsPerCheck), counter);
  b.CreateCondBr(b.CreateICmpEQ(status, b.getInt32(0)), on, leave);
  b.SetInsertPoint(leave);
  b.CreateRet(status);
  b.SetInsertPoint(on);
}

}  // namespace smalti::cpu
