#include "cpu/rewrite/ApproximateExponentials.h"

#include <vector>

#include "cpu/analysis/RowWeights.h"
#include "ir/Types.h"
#include "ir/facts/Tolerance.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {
namespace {

bool isExponential(mlir::Operation& op) {
  return llvm::isa<mlir::math::ExpOp, mlir::math::Exp2Op>(op) && elementDType(op.getResult(0).getType()) == DType::f32;
}

bool isRounded(mlir::OpOperand& use) {
  auto rounding = llvm::dyn_cast<mlir::arith::TruncFOp>(use.getOwner());
  return rounding && bit_width(elementDType(rounding.getType())) <= 16;
}

/// What has been subtracted from the exponents.
enum class Subtracted : uint8_t {
  other,
  atLeastMaximum,  ///< of the row: no weight is more than 1
  maximum          ///< some weight is 1
};

Subtracted subtractedFrom(mlir::Operation& exponential) {
  auto difference = exponential.getOperand(0).getDefiningOp<mlir::arith::SubFOp>();
  const mlir::Value column = difference ? perRow(difference.getRhs()) : nullptr;
  if (!column) return Subtracted::other;
  const auto maximumOf = [&](mlir::Value v) {
    return reductionOf(v, mlir::vector::CombiningKind::MAXIMUMF, difference.getLhs());
  };
  if (auto reduction = maximumOf(column)) {
    return isMaximumOfRows(reduction) ? Subtracted::maximum : Subtracted::atLeastMaximum;
  }
  auto larger = column.getDefiningOp<mlir::arith::MaximumFOp>();
  return larger && llvm::any_of(larger->getOperands(), maximumOf) ? Subtracted::atLeastMaximum : Subtracted::other;
}

bool areRoundedWeights(mlir::Operation& exponential) {
  const Subtracted subtracted = subtractedFrom(exponential);
  if (subtracted == Subtracted::other) return false;
  const mlir::Value weights = exponential.getResult(0);
  bool roundsAny = false;
  const auto areAllowed = [&](mlir::Value v, bool isNormalized) {
    return llvm::all_of(v.getUses(), [&](mlir::OpOperand& use) {
      roundsAny |= isRounded(use);
      return isRounded(use) || (!isNormalized && (isSummed(use) || normalizes(use, weights)));
    });
  };
  for (mlir::OpOperand& use : weights.getUses())
    if (normalizes(use, weights) &&
        (subtracted != Subtracted::maximum || !areAllowed(use.getOwner()->getResult(0), true)))
      return false;
  return areAllowed(weights, false) && roundsAny;
}

std::vector<mlir::Operation*> roundedWeights(const KernelPackage& package) {
  std::vector<mlir::Operation*> found;
  package.kernelFunction().walk([&](mlir::Operation* op) {
    if (isExponential(*op) && areRoundedWeights(*op) && !covers(toleranceOf(*op), kShortExponentials))
      found.push_back(op);
  });
  return found;
}

}  // namespace

std::optional<KernelPackage> approximateExponentials(const KernelPackage& package) {
  if (roundedWeights(package).empty()) return std::nullopt;
  KernelPackage made = package.copy();
  for (mlir::Operation* op : roundedWeights(made)) allow(*op, kShortExponentials);
  return made;
}

}  // namespace smalti::cpu
