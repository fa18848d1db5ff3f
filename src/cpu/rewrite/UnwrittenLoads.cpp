#include "cpu/rewrite/UnwrittenLoads.h"

#include "cpu/ops/NativeOps.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsMemory.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/OpFamilies.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

namespace smalti::cpu {
namespace {

constexpr llvm::StringLiteral kUnwritten("unwritten");

bool readsUnwrittenInput(mlir::vector::LoadOp load, const KernelArguments& arguments) {
  mlir::Value memory = load.getBase();
  while (auto reshaped = memory.getDefiningOp<tpu::MemRefReshapeOp>()) memory = reshaped.getInput();
  const auto role = arguments.roleOf(memory);
  const auto number = arguments.blockNumber(memory);
  if (!role || role->kind != ArgumentRole::input || !number || arguments.aliasedOutput(*number)) return false;
  return !mayBeWritten(memory);
}

/// Whether a load of this kind has a user for which it matters.
bool isMoved(mlir::vector::LoadOp load) {
  return llvm::any_of(load->getUsers(), [](mlir::Operation* user) {
    return llvm::isa<mlir::vector::ShapeCastOp, mlir::vector::ExtractStridedSliceOp, mlir::vector::ExtractOp,
                     mlir::vector::TransposeOp>(user) ||
           user->getName().getStringRef() == "tpu.transpose";
  });
}

}  // namespace

bool isUnwrittenLoad(mlir::Value v) {
  mlir::Operation* op = v.getDefiningOp();
  return op && op->hasAttr(kUnwritten) && llvm::isa<mlir::vector::LoadOp>(op);
}

bool isReadInRows(mlir::Operation& transpose) {
  const auto permutation = integersAttribute(transpose, "permutation");
  if (permutation.empty() || permutation.back() + 1 != static_cast<int64_t>(permutation.size())) return false;
  const mlir::Value result = transpose.getResult(0);
  return result.hasOneUse() && llvm::all_of(result.getUsers(), [&](mlir::Operation* user) {
           if (user->getBlock() != transpose.getBlock()) return false;
           auto store = llvm::dyn_cast<tpu::VectorStoreOp>(user);
           return store ? store.getValueToStore() == result && !store.getMask() : isNestable(*user);
         });
}

std::optional<KernelPackage> markUnwrittenLoads(const KernelPackage& package) {
  bool any = false;
  const KernelArguments given(package);
  package.kernelFunction().walk([&](mlir::Operation* op) {
    any |= op->hasAttr(kUnwritten);
    if (auto load = llvm::dyn_cast<mlir::vector::LoadOp>(op)) any |= isMoved(load) && readsUnwrittenInput(load, given);
  });
  if (!any) return std::nullopt;
  KernelPackage made = package.copy();
  const KernelArguments arguments(made);
  made.kernelFunction().walk([&](mlir::Operation* op) {
    op->removeAttr(kUnwritten);  // in a module that was read it would promise what nobody has proved
    if (auto load = llvm::dyn_cast<mlir::vector::LoadOp>(op); load && readsUnwrittenInput(load, arguments))
      op->setAttr(kUnwritten, mlir::UnitAttr::get(op->getContext()));
  });
  return made;
}

}  // namespace smalti::cpu
