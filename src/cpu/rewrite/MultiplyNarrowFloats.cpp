#include "cpu/rewrite/MultiplyNarrowFloats.h"

#include "cpu/rewrite/grid/CollapseReductionAxis.h"
#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

namespace smalti::cpu {
namespace {

bool isBf16(mlir::Value v) { return elementDType(v.getType()) == DType::bf16; }

/// Whether the value is bf16, or f32 that consists of widened bf16, possibly reshaped.
bool wasBf16(mlir::Value v) {
  if (isBf16(v)) return true;
  if (auto cast = v.getDefiningOp<mlir::vector::ShapeCastOp>()) return wasBf16(cast.getSource());
  auto widened = v.getDefiningOp<mlir::arith::ExtFOp>();
  return widened && isBf16(widened.getIn());
}

/// The bf16 that the value was widened from.
mlir::Value narrow(mlir::Value v) {
  if (isBf16(v)) return v;
  if (auto widened = v.getDefiningOp<mlir::arith::ExtFOp>()) return widened.getIn();
  auto cast = v.getDefiningOp<mlir::vector::ShapeCastOp>();
  mlir::Value source = narrow(cast.getSource());
  mlir::OpBuilder b(cast);
  auto type = cast.getType().clone(llvm::cast<mlir::VectorType>(source.getType()).getElementType());
  return mlir::vector::ShapeCastOp::create(b, cast.getLoc(), type, source);
}

/// Whether an operand can be narrower: the right one, or the left one if the right one is bf16 then.
bool isWidened(tpu::MatmulOp op) {
  const auto widened = [](mlir::Value v) { return wasBf16(v) && !isBf16(v); };
  const mlir::Value left = op->getOperand(0), right = op->getOperand(1);
  const bool multipliesFloats = isBf16(left) || elementDType(left.getType()) == DType::f32;
  return multipliesFloats && elementDType(op->getResult(0).getType()) == DType::f32 && wasBf16(right) &&
         (widened(right) || widened(left));
}

}  // namespace

std::optional<KernelPackage> multiplyNarrowFloats(const KernelPackage& package) {
  const auto widened = [](const KernelPackage& p) {
    std::vector<tpu::MatmulOp> found;
    mlir::func::FuncOp kernel = p.kernelFunction();
    kernel.walk([&](tpu::MatmulOp op) {
      if (isWidened(op)) found.push_back(op);
    });
    return found;
  };
  if (widened(package).empty()) return std::nullopt;
  KernelPackage made = package.copy();
  for (tpu::MatmulOp op : widened(made))
    for (const unsigned side : {0, 1})
      if (wasBf16(op->getOperand(side))) op->setOperand(side, narrow(op->getOperand(side)));
  dropUnused(made);
  return made;
}

}  // namespace smalti::cpu
