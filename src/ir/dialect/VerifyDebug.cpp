#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ir/TpuOpsDebug.h"
#include "ir/dialect/Verify.h"

namespace smalti::tpu {

llvm::LogicalResult IterationBoundOp::verify() {
  const int32_t dim = getDim();
  if (dim < 0) return emitOpError() << "needs a grid dimension of 0 or more, has " << dim;
  auto function = (*this)->getParentOfType<mlir::func::FuncOp>();
  auto bounds = function ? function->getAttrOfType<mlir::DenseI64ArrayAttr>("iteration_bounds") : nullptr;
  if (bounds && dim >= bounds.size())
    return emitOpError() << "needs a dimension of the grid, which has " << bounds.size() << ", has " << dim;
  return mlir::success();
}

llvm::LogicalResult LogBufferOp::verify() {
  auto type = getInput().getType();
  if (std::ssize(getShape()) != type.getRank())
    return emitOpError() << "needs a shape of the ref's rank " << type.getRank() << ", has " << getShape().size();
  for (auto [shown, size] : llvm::zip(getShape(), type.getShape()))
    if (shown < 0 || (!mlir::ShapedType::isDynamic(size) && shown > size))
      return emitOpError() << "needs a shape within the ref's " << shapeText(type.getShape()) << ", has "
                           << shapeText(getShape());
  return mlir::success();
}

}  // namespace smalti::tpu
