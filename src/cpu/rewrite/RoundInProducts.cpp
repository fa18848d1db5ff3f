#include "cpu/rewrite/RoundInProducts.h"

#include <algorithm>

#include "cpu/analysis/ReadsBetween.h"
#include "cpu/ops/SkinnyProducts.h"
#include "cpu/rewrite/grid/CollapseReductionAxis.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"
#include "ir/facts/DotDimensions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "schedule/UnitDims.h"

namespace smalti::cpu {
namespace {

constexpr llvm::StringLiteral kRounds("rounds_rhs"), kInPlace("in_place");

/// What a value is before it is reshaped.
mlir::Value unshaped(mlir::Value v, bool onlyUses) {
  while (auto cast = v.getDefiningOp<mlir::vector::ShapeCastOp>()) {
    if (onlyUses && !v.hasOneUse()) return nullptr;
    v = cast.getSource();
  }
  return v;
}

/// Rows of A as they are stored, by the rows of a matrix B.
bool isSkinnyMatrixProduct(tpu::MatmulOp op, const Processor& processor) {
  const DotDimensions dims = dotDimensionsOf(*op);
  const Shape lhs = shapeOf(op->getOperand(0).getType());
  const DType a = elementDType(op->getOperand(0).getType()), b = elementDType(op->getOperand(1).getType());
  return lhs.size() == 2 && shapeOf(op->getOperand(1).getType()).size() == 2 && dims.lhsBatch.empty() &&
         dims.lhsContracting == Shape{1} && lhs[0] <= kSkinnyRows && (a == DType::f32 || a == DType::bf16) &&
         b == DType::bf16 && !multipliesBf16Pairs(a, b, processor) &&
         elementDType(op->getOperand(2).getType()) == DType::f32 &&
         elementDType(op->getResult(0).getType()) == DType::f32;
}

/// Whether the rows of the matrix can be read where the load reads: it reads this matrix, or whole rows of scratch,
/// which has no gaps.
bool canReadInPlace(mlir::vector::LoadOp load, mlir::Value matrix, const KernelArguments& arguments) {
  const auto role = arguments.roleOf(load.getBase());
  if (!role) return false;
  const Shape box = shapeOf(load.getType()), all = shapeOf(load.getBase().getType());
  if (schedule::withoutUnits(box) == schedule::withoutUnits(shapeOf(matrix.getType()))) return true;
  const auto first = std::ranges::find_if(box, [](int64_t size) { return size != 1; });
  return role->kind == ArgumentRole::scratch && first != box.end() &&
         std::equal(first + 1, box.end(), all.end() - (box.end() - first) + 1);
}

/// The f32 values in memory that the right operand is rounded from; null: it is not, or they are needed elsewhere.
mlir::Value unrounded(tpu::MatmulOp op, const KernelArguments& arguments, const Processor& processor) {
  if (!isSkinnyMatrixProduct(op, processor)) return nullptr;
  const mlir::Value right = unshaped(op->getOperand(1), true);
  auto rounding = right ? right.getDefiningOp<mlir::arith::TruncFOp>() : nullptr;
  if (!rounding || !right.hasOneUse() || elementDType(rounding.getIn().getType()) != DType::f32) return nullptr;
  auto load = unshaped(rounding.getIn(), false).getDefiningOp<mlir::vector::LoadOp>();
  if (!load || load->getBlock() != op->getBlock() || !onlyReadsBetween(*load, *op) ||
      !canReadInPlace(load, op->getOperand(1), arguments))
    return nullptr;
  return rounding.getIn();
}

}  // namespace

bool roundsRight(mlir::Operation& matmul) { return matmul.hasAttr(kRounds); }
bool isReadInPlace(mlir::Operation& shapeCast) { return shapeCast.hasAttr(kInPlace); }

std::optional<KernelPackage> roundInProducts(const KernelPackage& package, const Processor& processor) {
  bool any = false;
  const KernelArguments given(package);
  package.kernelFunction().walk([&](mlir::Operation* op) {
    any |= op->hasAttr(kRounds) || op->hasAttr(kInPlace);
    if (auto product = llvm::dyn_cast<tpu::MatmulOp>(op)) any |= unrounded(product, given, processor) != nullptr;
  });
  if (!any) return std::nullopt;
  KernelPackage made = package.copy();
  // Marks in a module that was read would promise what nobody has proved.
  made.kernelFunction().walk([&](mlir::Operation* op) {
    op->removeAttr(kRounds);
    op->removeAttr(kInPlace);
  });
  const KernelArguments arguments(made);
  made.kernelFunction().walk([&](tpu::MatmulOp op) {
    mlir::Value from = unrounded(op, arguments, processor);
    if (!from) return;
    mlir::OpBuilder b(op);
    const auto type = llvm::cast<mlir::VectorType>(op->getOperand(1).getType()).clone(b.getF32Type());
    if (from.getType() != type) {
      from = mlir::vector::ShapeCastOp::create(b, op->getLoc(), type, from);
      from.getDefiningOp()->setAttr(kInPlace, b.getUnitAttr());
    }
    op->setOperand(1, from);
    op->setAttr(kRounds, b.getUnitAttr());
  });
  dropUnused(made);
  return made;
}

}  // namespace smalti::cpu
