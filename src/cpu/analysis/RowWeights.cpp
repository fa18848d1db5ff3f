#include "cpu/analysis/RowWeights.h"

#include <limits>

#include "ir/TpuOpsElementwise.h"
#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"
#include "ir/facts/Constants.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace smalti::cpu {
namespace {

bool reducesRows(mlir::vector::MultiDimReductionOp reduction) {
  const auto dims = reduction.getReductionDims();
  return dims.size() == 1 && dims[0] == reduction.getSourceVectorType().getRank() - 1;
}

}  // namespace

bool isMaximumOfRows(mlir::vector::MultiDimReductionOp reduction) {
  return reduction.getKind() == mlir::vector::CombiningKind::MAXIMUMF && reducesRows(reduction) &&
         splatFloat(reduction.getAcc()) == -std::numeric_limits<double>::infinity();
}

mlir::Value perRow(mlir::Value v) {
  auto repeated = v.getDefiningOp<mlir::vector::BroadcastOp>();
  if (repeated) v = repeated.getSource();
  const auto column = llvm::dyn_cast<mlir::VectorType>(v.getType());
  if (!column || column.getRank() < 2 || column.getShape().back() != 1) return nullptr;
  if (repeated && repeated.getResultVectorType().getRank() != column.getRank()) return nullptr;
  return v;
}

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

bool isSummed(mlir::OpOperand& use) {
  auto reduction = llvm::dyn_cast<mlir::vector::MultiDimReductionOp>(use.getOwner());
  return reduction && use.getOperandNumber() == 0 && reduction.getKind() == mlir::vector::CombiningKind::ADD &&
         reducesRows(reduction) && isZero(reduction.getAcc());
}

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

bool areWeights(mlir::Operation& exponential) {
  const mlir::Value weights = exponential.getResult(0);
  return llvm::all_of(weights.getUses(), [&](mlir::OpOperand& use) {
    auto rounding = llvm::dyn_cast<mlir::arith::TruncFOp>(use.getOwner());
    const bool isBf16 = rounding && elementDType(rounding.getType()) == DType::bf16;
    const bool isOperand = llvm::isa<tpu::MatmulOp>(use.getOwner()) && use.getOperandNumber() == 0;
    return isBf16 || isOperand || isSummed(use) || normalizes(use, weights);
  });
}

}  // namespace smalti::cpu
