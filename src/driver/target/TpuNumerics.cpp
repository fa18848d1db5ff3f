#include "driver/target/TpuNumerics.h"

#include "cpu/rewrite/MatrixUnitProducts.h"
#include "cpu/rewrite/MultiplyNarrowFloats.h"
#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace smalti::driver {
namespace {

bool isF32(mlir::Value v) { return elementDType(v.getType()) == DType::f32; }

void roundOperands(tpu::MatmulOp op) {
  const std::string precision = keywordAttribute(*op, "precision");
  if (precision == "bf16x3" || precision == "fp32") return;
  mlir::OpBuilder b(op);
  for (const unsigned side : {0, 1}) {
    const mlir::Value operand = op->getOperand(side);
    if (!isF32(operand)) continue;
    const auto type = llvm::cast<mlir::VectorType>(operand.getType()).clone(b.getBF16Type());
    op->setOperand(side, mlir::arith::TruncFOp::create(b, op->getLoc(), type, operand));
  }
}

}  // namespace

std::optional<KernelPackage> withNumerics(const KernelPackage& package, Numerics numerics) {
  KernelPackage made = package.copy();
  if (numerics == Numerics::f32) return made;
  for (const auto rewrite : {cpu::multiplyWithoutUnits, cpu::multiplyNarrowFloats})
    if (auto next = rewrite(made)) made = std::move(*next);
  bool isForTheMachine = false;
  made.kernelFunction().walk([&](mlir::Operation* op) {
    if (auto product = llvm::dyn_cast<tpu::MatmulOp>(op)) roundOperands(product);
    if (llvm::isa<tpu::ConvOp>(op)) isForTheMachine |= isF32(op->getOperand(0)) || isF32(op->getOperand(1));
    isForTheMachine |= llvm::isa<tpu::MatmulPushRhsOp, tpu::MatmulAccLhsOp, tpu::MatmulLhsFifoOp>(op);
  });
  return isForTheMachine ? std::nullopt : std::optional(std::move(made));
}

}  // namespace smalti::driver
