#include "cpu/check/Definedness.h"

#include "cpu/analysis/BoxAccess.h"
#include "cpu/analysis/ReadBeforeWrite.h"
#include "cpu/check/Masks.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/Constants.h"
#include "ir/facts/OpFamilies.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti::cpu {
namespace {

/// Whether the first access to an allocation writes all of it.
bool isWrittenFirst(mlir::Value allocated) {
  llvm::SmallPtrSet<mlir::Operation*, 8> users;
  mlir::Block* block = allocated.getParentBlock();
  for (mlir::Operation* user : allocated.getUsers()) {
    if (maskRuleOf(*user) == MaskRule::load && isDead(user->getResult(0))) continue;
    users.insert(block->findAncestorOpInBlock(*user));
  }
  for (mlir::Operation* op = allocated.getDefiningOp(); op; op = op->getNextNode())
    if (users.contains(op)) return overwrites(*op, allocated);
  return true;
}

class Follower {
 public:
  Follower(const KernelPackage& package, const CheckPlan& plan) : package_(package) {
    for (const unsigned argument : plan.tracked) found_.tracked.insert(package.kernelFunction().getArgument(argument));
  }

  Definedness run() {
    mlir::func::FuncOp kernel = package_.kernelFunction();
    kernel.walk([&](mlir::Operation* op) {
      if (maskRuleOf(*op) == MaskRule::allocate && !isWrittenFirst(op->getResult(0)))
        found_.tracked.insert(op->getResult(0));
    });
    // Iterates to a fixed point, since each newly tracked memory may make more values undefined.
    for (size_t before = SIZE_MAX; before != found_.tracked.size();) {
      before = found_.tracked.size();
      kernel.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) { visit(*op); });
    }
    return std::move(found_);
  }

 private:
  bool maybe(mlir::Value v) const { return found_.values.contains(v); }

  void visit(mlir::Operation& op) {
    if (auto copy = mlir::dyn_cast<tpu::EnqueueDMAOp>(op)) {
      const mlir::Value target = memoryOf(copy.getTarget());
      if (found_.isTracked(memoryOf(copy.getSource())) && isTrackable(package_, target)) found_.tracked.insert(target);
      return;
    }
    switch (maskRuleOf(op)) {
      case MaskRule::load:
        if (found_.isTracked(memoryOf(refOperand(op))) && !isDead(op.getResult(0)))
          found_.values.insert(op.getResult(0));
        return;
      case MaskRule::store:
        if (const mlir::Value root = memoryOf(refOperand(op)); maybe(storedValue(op)) && isTrackable(package_, root))
          found_.tracked.insert(root);
        return;
      case MaskRule::move:
        if (llvm::any_of(movedOperands(op), [&](mlir::Value v) { return maybe(v); }))
          found_.values.insert(op.getResult(0));
        return;
      case MaskRule::elementwise:
      case MaskRule::select:
      case MaskRule::reduce:
      case MaskRule::matmul:
        if (llvm::any_of(op.getOperands(), [&](mlir::Value v) { return maybe(v); }))
          found_.values.insert(op.getResult(0));
        return;
      default:
        return;
    }
  }

  const KernelPackage& package_;
  Definedness found_;
};

}  // namespace

bool isZeroIndex(mlir::Value v) { return constantIndex(v) == 0; }

bool overwrites(mlir::Operation& op, mlir::Value ref) {
  if (!mlir::isa<mlir::vector::StoreOp, tpu::VectorStoreOp>(op) || op.getOperand(1) != ref || storeMask(op) ||
      boolAttribute(op, "add") || shapeOf(op.getOperand(0).getType()) != shapeOf(ref.getType()))
    return false;
  for (const int64_t step : integersAttribute(op, "strides"))
    if (step != 1) return false;
  const auto rank = static_cast<unsigned>(shapeOf(ref.getType()).size());
  return op.getNumOperands() == 2 + rank && llvm::all_of(op.getOperands().drop_front(2), isZeroIndex);
}

bool isTrackable(const KernelPackage& package, mlir::Value root) {
  const KernelArguments arguments(package);
  const auto role = arguments.roleOf(root);
  if (!role || role->kind == ArgumentRole::scratch) return true;
  return role->kind == ArgumentRole::output && !arguments.isAliased(static_cast<size_t>(role->index));
}

Definedness findUndefined(const KernelPackage& package, const CheckPlan& plan) { return Follower(package, plan).run(); }

}  // namespace smalti::cpu
