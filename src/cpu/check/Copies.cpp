#include "cpu/check/Copies.h"

#include "cpu/analysis/ReadBeforeWrite.h"
#include "cpu/check/Masks.h"
#include "cpu/emit/ops/HazardChecks.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "ir/facts/OpFamilies.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {
namespace {

/// The most semaphores of one array that are checked individually.
constexpr int64_t kMaxSemaphores = 64;

bool isSemaphoreRef(mlir::Value v) {
  auto type = mlir::dyn_cast<mlir::MemRefType>(v.getType());
  return type && is_semaphore(elementDType(type));
}

int64_t elementsOf(mlir::Value ref) { return mlir::cast<mlir::MemRefType>(ref.getType()).getNumElements(); }

/// Emits, before `end`, a check that each is zero.
void requireZero(mlir::Operation* end, mlir::Value semaphores,
                 llvm::function_ref<void(mlir::OpBuilder&, mlir::Value)> require) {
  mlir::OpBuilder b(end);
  const mlir::Location at = end->getLoc();
  auto type = mlir::cast<mlir::MemRefType>(semaphores.getType());
  const auto i32 = [&](int64_t v) {
    return mlir::arith::ConstantOp::create(b, at, b.getI32IntegerAttr(static_cast<int32_t>(v))).getResult();
  };
  const llvm::SmallVector<int64_t> one(static_cast<size_t>(type.getRank()), 1);
  auto single =
      mlir::MemRefType::get(one, type.getElementType(), mlir::MemRefLayoutAttrInterface(), type.getMemorySpace());
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    mlir::Value semaphore = semaphores;
    if (type.getRank() > 0) {
      llvm::SmallVector<mlir::Value> place(one.size());
      int64_t rest = i;
      for (size_t d = place.size(); d-- > 0; rest /= type.getDimSize(static_cast<unsigned>(d)))
        place[d] = i32(rest % type.getDimSize(static_cast<unsigned>(d)));
      semaphore = tpu::MemRefSliceOp::create(b, at, single, semaphores, place, mlir::ValueRange());
    }
    const mlir::Value count = tpu::SemReadOp::create(b, at, b.getI32Type(), semaphore);
    require(b, mlir::arith::CmpIOp::create(b, at, mlir::arith::CmpIPredicate::eq, count, i32(0)));
  }
}

/// A load of the whole ref whose value is unused: only its range counts, as if it were a store.
void watchWhole(mlir::Operation* end, mlir::Value ref) {
  mlir::OpBuilder b(end);
  auto type = mlir::cast<mlir::MemRefType>(ref.getType());
  const mlir::Value zero = mlir::arith::ConstantOp::create(b, end->getLoc(), b.getIndexAttr(0));
  const llvm::SmallVector<mlir::Value> indices(static_cast<size_t>(type.getRank()), zero);
  auto whole = mlir::VectorType::get(type.getShape(), type.getElementType());
  auto load = mlir::vector::LoadOp::create(b, end->getLoc(), whole, ref, indices);
  load->setAttr(kHazardChecked, b.getStringAttr("write"));
}

}  // namespace

bool isSynchronising(mlir::Operation& op) {
  return mlir::isa<tpu::SemAllocOp, tpu::SemBarrierOp, tpu::SemReadOp, tpu::SemWaitOp, tpu::SemSignalOp,
                   tpu::EnqueueDMAOp, tpu::WaitDMAOp, tpu::WaitDMA2Op>(op);
}

std::optional<Unsupported> cannotCheck(mlir::Operation& op) {
  if (mlir::isa<tpu::SemWaitOp>(op)) return std::nullopt;
  // Only for copies is it known which of the increments of a semaphore have happened.
  const auto isForCopies = [](mlir::Value semaphore) {
    return elementDType(semaphore.getType()) == DType::dma_semaphore;
  };
  if (auto signal = mlir::dyn_cast<tpu::SemSignalOp>(op); signal && isForCopies(signal.getSemaphore()))
    return "it signals a semaphore of copies";
  if (auto copy = mlir::dyn_cast<tpu::EnqueueDMAOp>(op);
      copy && copy.getTargetSemaphore() && !isForCopies(copy.getTargetSemaphore()))
    return "a copy raises a regular semaphore";
  if (auto signal = mlir::dyn_cast<tpu::SemSignalOp>(op))
    return signal.getDeviceId() || signal.getCoreId() ? std::optional<Unsupported>("it signals by device or core")
                                                      : std::nullopt;
  if (auto allocation = mlir::dyn_cast<tpu::SemAllocOp>(op))
    return elementsOf(allocation.getResult()) > kMaxSemaphores ? std::optional<Unsupported>("it has many semaphores")
                                                               : std::nullopt;
  const auto isPlain = [](auto copy) {
    return !copy.getSourceSemaphore() && copy.getTargetSemaphore() && !copy.getDeviceId() && !copy.getCoreId() &&
           !copy.getSubcoreId();
  };
  if (auto copy = mlir::dyn_cast<tpu::EnqueueDMAOp>(op); copy && isPlain(copy)) return std::nullopt;
  if (auto wait = mlir::dyn_cast<tpu::WaitDMAOp>(op); wait && isPlain(wait) && wait.getWaitTarget())
    return std::nullopt;
  // Only the machine explores several orders of copies in flight and of other cores.
  return "it uses " + op.getName().getStringRef().str() +
         (mlir::isa<tpu::SemReadOp, tpu::SemBarrierOp>(op) ? "" : " by device or core");
}

void markHazardChecks(const KernelPackage& package) {
  mlir::func::FuncOp kernel = package.kernelFunction();
  llvm::SetVector<mlir::Value> touched;  // in the order of the copies: the same code every time
  kernel.walk([&](tpu::EnqueueDMAOp copy) {
    touched.insert(memoryOf(copy.getSource()));
    touched.insert(memoryOf(copy.getTarget()));
  });
  if (touched.empty()) return;
  const mlir::Attribute watched = mlir::UnitAttr::get(kernel.getContext());
  kernel.walk([&](mlir::Operation* op) {
    const MaskRule rule = maskRuleOf(*op);
    const bool access = (rule == MaskRule::load && !isDead(op->getResult(0))) || rule == MaskRule::store;
    if (mlir::isa<tpu::EnqueueDMAOp, tpu::WaitDMAOp, tpu::SemWaitOp>(op) ||
        (access && touched.contains(memoryOf(refOperand(*op)))))
      op->setAttr(kHazardChecked, watched);
  });
  // Windows get other blocks after a step, and allocations end, so nothing may be in flight there.
  const KernelArguments arguments(package);
  for (mlir::Value root : touched) {
    mlir::Block* block = root.getParentBlock();
    if (mlir::isa<mlir::BlockArgument>(root)) {
      const auto number = arguments.blockNumber(root);
      if (!number || !arguments.windowOf(*number)) continue;
    }
    watchWhole(block->getTerminator(), root);
  }
}

void requireZeroSemaphores(const KernelPackage& package,
                           llvm::function_ref<void(mlir::OpBuilder&, mlir::Value)> require) {
  mlir::func::FuncOp kernel = package.kernelFunction();
  kernel.walk([&](tpu::SemAllocOp allocation) {
    requireZero(allocation->getBlock()->getTerminator(), allocation.getResult(), require);
  });
  mlir::Operation* end = kernel.getBody().front().getTerminator();
  mlir::Operation* last = nullptr;  // the insertion point of the last step's checks
  for (const mlir::BlockArgument argument : kernel.getArguments()) {
    if (!isSemaphoreRef(argument)) continue;
    if (!last) {
      mlir::OpBuilder b(end);
      const mlir::Location at = end->getLoc();
      mlir::Value isLast = mlir::arith::ConstantOp::create(b, at, b.getBoolAttr(true));
      for (size_t d = 0; d < package.signature.grid.size(); ++d) {
        const mlir::Value bound =
            tpu::IterationBoundOp::create(b, at, b.getI32Type(), b.getI32IntegerAttr(static_cast<int32_t>(d)));
        const mlir::Value one = mlir::arith::ConstantOp::create(b, at, b.getI32IntegerAttr(1));
        const mlir::Value here = mlir::arith::CmpIOp::create(b, at, mlir::arith::CmpIPredicate::eq,
                                                             kernel.getArgument(static_cast<unsigned>(d)),
                                                             mlir::arith::SubIOp::create(b, at, bound, one));
        isLast = mlir::arith::AndIOp::create(b, at, isLast, here);
      }
      auto branch = mlir::scf::IfOp::create(b, at, isLast, /*withElseRegion=*/false);
      last = branch.thenBlock()->getTerminator();
    }
    requireZero(last, argument, require);
  }
}

}  // namespace smalti::cpu
