#include "cpu/analysis/Zero.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace smalti::cpu {

bool isZero(mlir::Value v) {
  if (mlir::matchPattern(v, mlir::m_AnyZeroFloat()) || mlir::matchPattern(v, mlir::m_Zero())) return true;
  mlir::Operation* op = v.getDefiningOp();
  using namespace mlir::arith;
  return llvm::isa_and_present<mlir::vector::BroadcastOp, SIToFPOp, UIToFPOp, ExtFOp, TruncFOp, ExtSIOp, ExtUIOp,
                               TruncIOp>(op) &&
         isZero(op->getOperand(0));
}

}  // namespace smalti::cpu
