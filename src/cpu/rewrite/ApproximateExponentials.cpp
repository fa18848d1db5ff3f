#include "cpu/rewrite/ApproximateExponentials.h"

#include <algorithm>
#include <vector>

#include "ir/Types.h"
#include "ir/facts/Tolerance.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {
namespace {

/// The weights of attention are compared with the row's largest, 1: 2^-124 is nothing beside it.
constexpr Tolerance kRounded{.atol = 0x1p-124, .rtol = 0x1p-17};

bool isExponential(mlir::Operation& op) {
  return llvm::isa<mlir::math::ExpOp, mlir::math::Exp2Op>(op) && elementDType(op.getResult(0).getType()) == DType::f32;
}

/// Whether a relative error of the operand remains one of the result.
bool scales(mlir::OpOperand& use) {
  mlir::Operation* op = use.getOwner();
  if (llvm::isa<mlir::arith::MulFOp, mlir::vector::ShapeCastOp, mlir::vector::BroadcastOp>(op)) return true;
  return use.getOperandNumber() == 0 && llvm::isa<mlir::arith::DivFOp>(op);
}

bool isSummed(mlir::OpOperand& use) {
  auto reduction = llvm::dyn_cast<mlir::vector::MultiDimReductionOp>(use.getOwner());
  return reduction && use.getOperandNumber() == 0 && reduction.getKind() == mlir::vector::CombiningKind::ADD;
}

bool isRounded(mlir::OpOperand& use) {
  auto rounding = llvm::dyn_cast<mlir::arith::TruncFOp>(use.getOwner());
  return rounding && bit_width(elementDType(rounding.getType())) <= 16;
}

bool isOnlyRounded(mlir::Operation& exponential) {
  llvm::SetVector<mlir::Value> scaled;
  scaled.insert(exponential.getResult(0));
  bool roundsAny = false;
  for (size_t i = 0; i < scaled.size(); ++i)
    for (mlir::OpOperand& use : scaled[i].getUses()) {
      if (scales(use))
        scaled.insert(use.getOwner()->getResult(0));
      else if (!isRounded(use) && !isSummed(use))
        return false;
      roundsAny |= isRounded(use);
    }
  return roundsAny;
}

std::vector<mlir::Operation*> roundedExponentials(const KernelPackage& package) {
  std::vector<mlir::Operation*> found;
  package.kernelFunction().walk([&](mlir::Operation* op) {
    if (!isExponential(*op) || !isOnlyRounded(*op)) return;
    const Tolerance given = toleranceOf(*op);
    if (given.atol < kRounded.atol || given.rtol < kRounded.rtol) found.push_back(op);
  });
  return found;
}

}  // namespace

std::optional<KernelPackage> approximateExponentials(const KernelPackage& package) {
  if (roundedExponentials(package).empty()) return std::nullopt;
  KernelPackage made = package.copy();
  for (mlir::Operation* op : roundedExponentials(made)) {
    const Tolerance given = toleranceOf(*op);
    const mlir::NamedAttribute allowed = toleranceAttribute(
        op->getContext(), {std::max(given.atol, kRounded.atol), std::max(given.rtol, kRounded.rtol)});
    op->setAttr(allowed.getName(), allowed.getValue());
  }
  return made;
}

}  // namespace smalti::cpu
