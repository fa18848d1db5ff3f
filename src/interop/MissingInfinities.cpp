#include "interop/MissingInfinities.h"

#include "llvm/ADT/APFloat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

namespace smalti::interop {

void replaceMissingInfinities(mlir::ModuleOp module) {
  module.walk([](mlir::vector::MultiDimReductionOp op) {
    const bool isMaximum = op.getKind() == mlir::vector::CombiningKind::MAXIMUMF;
    if (!isMaximum && op.getKind() != mlir::vector::CombiningKind::MINIMUMF) return;
    const mlir::Type type = op.getAcc().getType();
    auto element = llvm::dyn_cast<mlir::FloatType>(mlir::getElementTypeOrSelf(type));
    if (!element || llvm::APFloat::semanticsHasInf(element.getFloatSemantics())) return;
    llvm::APFloat start(0.0);
    if (!mlir::matchPattern(op.getAcc(), mlir::m_ConstantFloat(&start)) || !start.isNaN()) return;
    mlir::OpBuilder b(op);
    mlir::TypedAttr number = b.getFloatAttr(element, llvm::APFloat::getLargest(element.getFloatSemantics(), isMaximum));
    if (auto shaped = llvm::dyn_cast<mlir::ShapedType>(type)) number = mlir::DenseElementsAttr::get(shaped, number);
    op.getAccMutable().assign(mlir::arith::ConstantOp::create(b, op.getLoc(), number));
  });
}

}  // namespace smalti::interop
