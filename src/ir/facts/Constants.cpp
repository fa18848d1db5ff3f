#include "ir/facts/Constants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace smalti {

bool isZero(mlir::Value v) {
  if (mlir::matchPattern(v, mlir::m_PosZeroFloat()) || mlir::matchPattern(v, mlir::m_Zero())) return true;
  mlir::Operation* op = v.getDefiningOp();
  using namespace mlir::arith;
  return llvm::isa_and_present<mlir::vector::BroadcastOp, SIToFPOp, UIToFPOp, ExtFOp, TruncFOp, ExtSIOp, ExtUIOp,
                               TruncIOp>(op) &&
         isZero(op->getOperand(0));
}

std::optional<int64_t> constantIndex(mlir::Value v) {
  while (auto cast = v.getDefiningOp<mlir::arith::IndexCastOp>()) v = cast.getIn();
  return mlir::getConstantIntValue(v);
}

}  // namespace smalti
