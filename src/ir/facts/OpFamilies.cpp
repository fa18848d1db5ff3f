#include "ir/facts/OpFamilies.h"

#include <optional>

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include "ir/TpuOpsSync.h"

namespace smalti {
namespace {

using Effects = llvm::SmallVector<mlir::MemoryEffects::EffectInstance, 4>;

/// nullopt: the op does not say.
std::optional<Effects> effectsOf(mlir::Operation& op) {
  auto declared = mlir::dyn_cast<mlir::MemoryEffectOpInterface>(op);
  if (!declared || op.getNumRegions() != 0) return std::nullopt;
  Effects effects;
  declared.getEffects(effects);
  return effects;
}

bool isRead(const mlir::MemoryEffects::EffectInstance& e) {
  return mlir::isa<mlir::MemoryEffects::Read>(e.getEffect());
}

}  // namespace

bool isPure(mlir::Operation& op) {
  return op.getNumRegions() == 0 && !op.hasTrait<mlir::OpTrait::IsTerminator>() && mlir::isMemoryEffectFree(&op) &&
         !isView(op);
}

bool isElementwise(mlir::Operation& op) {
  if (op.getNumResults() != 1) return false;
  if (!op.hasTrait<mlir::OpTrait::Elementwise>() && !op.hasTrait<tpu::ElementwiseTrait>()) return false;
  // A bitcast to another width joins or splits elements.
  const auto result = mlir::dyn_cast<mlir::VectorType>(op.getResult(0).getType());
  return llvm::all_of(op.getOperandTypes(), [&](mlir::Type t) {
    const auto operand = mlir::dyn_cast<mlir::VectorType>(t);
    return !operand || (result && operand.getShape() == result.getShape());
  });
}

bool movesElements(mlir::Operation& op) {
  using namespace mlir::vector;
  return op.hasTrait<tpu::MovesElementsTrait>() ||
         mlir::isa<BroadcastOp, ShapeCastOp, TransposeOp, ExtractStridedSliceOp, ExtractOp, InsertOp,
                   InsertStridedSliceOp, FromElementsOp>(op);
}

bool isView(mlir::Operation& op) { return mlir::isa<mlir::ViewLikeOpInterface>(op); }

mlir::Value memoryOf(mlir::Value ref) {
  for (mlir::Operation* op = ref.getDefiningOp(); op && isView(*op); op = ref.getDefiningOp()) ref = op->getOperand(0);
  return ref;
}

bool isLoad(mlir::Operation& op) {
  const auto effects = effectsOf(op);
  return effects && !effects->empty() && llvm::all_of(*effects, isRead);
}

bool isStore(mlir::Operation& op) {
  const auto effects = effectsOf(op);
  return effects && llvm::any_of(*effects, [](const mlir::MemoryEffects::EffectInstance& e) {
           return mlir::isa<mlir::MemoryEffects::Write>(e.getEffect()) && e.getValue();
         });
}

bool mayChangeMemory(mlir::Operation& op) {
  if (mlir::isa<mlir::cf::AssertOp>(op)) return false;  // upstream it writes, so that nothing moves past it
  const auto effects = effectsOf(op);
  return !effects || llvm::any_of(*effects, [](const mlir::MemoryEffects::EffectInstance& e) {
    return !isRead(e) && e.getResource() != tpu::DebugOutput::get();
  });
}

bool mayBeWritten(mlir::Value ref) {
  return llvm::any_of(ref.getUses(), [&](mlir::OpOperand& use) {
    mlir::Operation& op = *use.getOwner();
    if (auto view = mlir::dyn_cast<mlir::ViewLikeOpInterface>(op)) return mayBeWritten(view.getViewDest());
    if (auto copy = mlir::dyn_cast<tpu::EnqueueDMAOp>(op))
      return copy.getTargetMutable().getOperandNumber() == use.getOperandNumber();
    if (mlir::isa<tpu::WaitDMAOp>(op)) return false;
    const auto effects = effectsOf(op);
    const auto isHere = [&](const mlir::MemoryEffects::EffectInstance& e) { return e.getValue() == ref; };
    // An op that declares no effect on the ref may pass it on.
    return !effects || llvm::none_of(*effects, isHere) ||
           llvm::any_of(*effects, [&](const auto& e) { return isHere(e) && !isRead(e); });
  });
}

}  // namespace smalti
