#include "tpu/Scratch.h"

#include <algorithm>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "tpu/Multiple.h"
#include "tpu/Tiling.h"

namespace smalti::tpu {
namespace {

/// A load whose value is unused, as Pallas emits next to each store; or an unused value computed from one.
bool isDead(mlir::Operation* op, int depth = 0) {
  constexpr int kDeepest = 8;  // as in the work of kernels (sim/Work.cpp)
  if (depth > kDeepest) return false;
  if (op->getNumResults() == 0 || (!mlir::isa<mlir::vector::LoadOp>(op) && !mlir::isPure(op))) return false;
  return llvm::all_of(op->getUsers(), [&](mlir::Operation* user) { return isDead(user, depth + 1); });
}

bool isStoreTo(mlir::Operation* op, mlir::Value ref) {
  if (auto store = mlir::dyn_cast<VectorStoreOp>(op)) return store.getBase() == ref && !store.getAdd();
  if (auto store = mlir::dyn_cast<mlir::vector::StoreOp>(op)) return store.getBase() == ref;
  return false;
}

/// Stores of sub-word elements must read the rest of the word.
bool fillsWords(mlir::Value ref) {
  const auto array = arrayTypeOf(ref.getType());
  if (!array || array->shape.size() < 2) return true;
  return array->shape[array->shape.size() - 2] % packingOf(array->dtype) == 0;
}

bool isWhole(mlir::VectorType vector, mlir::Value ref) {
  return vector.getShape() == mlir::cast<mlir::MemRefType>(ref.getType()).getShape();
}

/// Whether it is known that the op runs at each step: nullopt if that depends on the step.
std::optional<bool> runs(const KernelPackage& p, mlir::Operation* op) {
  for (mlir::Operation* parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
    if (mlir::isa<mlir::func::FuncOp>(parent)) return true;
    auto branch = mlir::dyn_cast<mlir::scf::IfOp>(parent);
    const auto taken = branch ? constantOnGrid(branch.getCondition(), p.signature.grid) : std::nullopt;
    if (!taken) return std::nullopt;
    if ((*taken != 0) != branch.getThenRegion().isAncestor(op->getParentRegion())) return false;
  }
  return std::nullopt;
}

}  // namespace

bool isForwarded(const KernelPackage& p, mlir::Value scratch) {
  if (!mlir::isa<mlir::MemRefType>(scratch.getType())) return false;
  bool stored = false, known = true;
  p.kernelFunction().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    if (!llvm::is_contained(op->getOperands(), scratch) || isDead(op)) return;
    const auto here = runs(p, op);
    known = known && here.has_value();
    if (!known || !*here) return;
    if (isStoreTo(op, scratch)) {
      auto store = mlir::dyn_cast<VectorStoreOp>(op);
      mlir::Value value = store ? store.getValueToStore() : mlir::cast<mlir::vector::StoreOp>(op).getValueToStore();
      const bool whole = isWhole(mlir::cast<mlir::VectorType>(value.getType()), scratch);
      known = known && whole && (!store || !store.getMask());
      stored = true;
    } else {
      auto load = mlir::dyn_cast<mlir::vector::LoadOp>(op);
      known = known && stored && load && isWhole(load.getVectorType(), scratch);
    }
  });
  return known && stored;
}

bool isRemoved(const KernelPackage& p, mlir::Value scratch) {
  const bool neverRead = llvm::all_of(scratch.getUsers(), [&](mlir::Operation* op) {
    return isDead(op) || (isStoreTo(op, scratch) && fillsWords(scratch));
  });
  return neverRead || isForwarded(p, scratch);
}

}  // namespace smalti::tpu
