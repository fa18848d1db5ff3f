#include "cpu/rewrite/ApproximateExponentials.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "ir/TpuOpsElementwise.h"
#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"
#include "ir/facts/Constants.h"
#include "ir/facts/Tolerance.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {
namespace {

constexpr Tolerance kOfWeights{.atol = 0x1p-124, .rtol = 0x1p-17};

bool isExponential(mlir::Operation& op) {
  return llvm::isa<mlir::math::ExpOp, mlir::math::Exp2Op>(op) && elementDType(op.getResult(0).getType()) == DType::f32;
}

bool reducesRows(mlir::vector::MultiDimReductionOp reduction) {
  const auto dims = reduction.getReductionDims();
  return dims.size() == 1 && dims[0] == reduction.getSourceVectorType().getRank() - 1;
}

/// Whether the values are summed along their rows.
bool isSummed(mlir::OpOperand& use) {
  auto reduction = llvm::dyn_cast<mlir::vector::MultiDimReductionOp>(use.getOwner());
  return reduction && use.getOperandNumber() == 0 && reduction.getKind() == mlir::vector::CombiningKind::ADD &&
         reducesRows(reduction) && isZero(reduction.getAcc());
}

bool isRounded(mlir::OpOperand& use) {
  auto rounding = llvm::dyn_cast<mlir::arith::TruncFOp>(use.getOwner());
  return rounding && bit_width(elementDType(rounding.getType())) <= 16;
}

/// A value per row of a matrix, before it is made a column and repeated along the rows. Null: it is something else.
mlir::Value perRow(mlir::Value v) {
  auto repeated = v.getDefiningOp<mlir::vector::BroadcastOp>();
  if (repeated) v = repeated.getSource();
  const auto column = llvm::dyn_cast<mlir::VectorType>(v.getType());
  if (!column || column.getRank() < 2 || column.getShape().back() != 1) return nullptr;
  if (repeated && repeated.getResultVectorType().getRank() != column.getRank()) return nullptr;
  return v;
}

/// The reduction of the rows of a matrix that the value per row is. Null: it is none.
mlir::vector::MultiDimReductionOp reductionOf(mlir::Value v, mlir::vector::CombiningKind kind, mlir::Value matrix) {
  const mlir::Value column = perRow(v);
  auto cast = column ? column.getDefiningOp<mlir::vector::ShapeCastOp>() : nullptr;
  auto reduction = cast ? cast.getSource().getDefiningOp<mlir::vector::MultiDimReductionOp>() : nullptr;
  if (!reduction || reduction.getKind() != kind || reduction.getSource() != matrix || !reducesRows(reduction))
    return nullptr;
  llvm::SmallVector<int64_t> shape(reduction.getSourceVectorType().getShape());
  shape.back() = 1;
  return cast.getType().getShape() == llvm::ArrayRef(shape) ? reduction : nullptr;
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
    const bool isOfRow = splatFloat(reduction.getAcc()) == -std::numeric_limits<double>::infinity();
    return isOfRow ? Subtracted::maximum : Subtracted::atLeastMaximum;
  }
  auto larger = column.getDefiningOp<mlir::arith::MaximumFOp>();
  return larger && llvm::any_of(larger->getOperands(), maximumOf) ? Subtracted::atLeastMaximum : Subtracted::other;
}

/// Whether the use divides the weights by their sum, or multiplies them by its reciprocal.
bool normalizes(mlir::OpOperand& use, mlir::Value weights) {
  mlir::Operation* op = use.getOwner();
  const auto isSum = [&](mlir::Value v) {
    auto reduction = reductionOf(v, mlir::vector::CombiningKind::ADD, weights);
    return reduction && isZero(reduction.getAcc());
  };
  if (llvm::isa<mlir::arith::DivFOp>(op)) return use.getOperandNumber() == 0 && isSum(op->getOperand(1));
  if (!llvm::isa<mlir::arith::MulFOp>(op)) return false;
  const mlir::Value factor = perRow(op->getOperand(1 - use.getOperandNumber()));
  mlir::Operation* reciprocal = factor ? factor.getDefiningOp() : nullptr;
  if (auto quotient = llvm::dyn_cast_or_null<mlir::arith::DivFOp>(reciprocal))
    return splatFloat(quotient.getLhs()) == 1 && isSum(quotient.getRhs());
  return reciprocal && llvm::isa<tpu::ReciprocalOp>(reciprocal) && isSum(reciprocal->getOperand(0));
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
    if (!isExponential(*op) || !areRoundedWeights(*op)) return;
    const Tolerance given = toleranceOf(*op);
    if (given.atol < kOfWeights.atol || given.rtol < kOfWeights.rtol) found.push_back(op);
  });
  return found;
}

}  // namespace

bool areWeights(mlir::Operation& exponential) {
  const mlir::Value weights = exponential.getResult(0);
  return llvm::all_of(weights.getUses(), [&](mlir::OpOperand& use) {
    auto rounding = llvm::dyn_cast<mlir::arith::TruncFOp>(use.getOwner());
    const bool isBf16 = rounding && elementDType(rounding.getType()) == DType::bf16;
    const bool isOperand = llvm::isa<tpu::MatmulOp>(use.getOwner()) && use.getOperandNumber() == 0;
    return isBf16 || isOperand || isSummed(use) || normalizes(use, weights);
  });
}

std::optional<KernelPackage> approximateExponentials(const KernelPackage& package) {
  if (roundedWeights(package).empty()) return std::nullopt;
  KernelPackage made = package.copy();
  for (mlir::Operation* op : roundedWeights(made)) {
    const Tolerance given = toleranceOf(*op);
    const mlir::NamedAttribute allowed = toleranceAttribute(
        op->getContext(), {std::max(given.atol, kOfWeights.atol), std::max(given.rtol, kOfWeights.rtol)});
    op->setAttr(allowed.getName(), allowed.getValue());
  }
  return made;
}

}  // namespace smalti::cpu
