#include "cpu/plan/product/StorageDType.h"

#include "cpu/ops/NativeDTypes.h"
#include "cpu/plan/product/ProductPlan.h"
#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"

namespace smalti::cpu {
namespace {

/// An upper limit of the number of rows: the product of all dimensions but the last.
int64_t rowsOf(mlir::Value v) {
  const Shape shape = shapeOf(v.getType());
  return shape.empty() || shape.back() == 0 ? 0 : num_elements(shape) / shape.back();
}

/// The left operand of a native product in f32.
bool isReadAsF32(const Processor& processor, mlir::OpOperand& use) {
  mlir::Operation* op = use.getOwner();
  if (!llvm::isa<tpu::MatmulOp>(op) || use.getOperandNumber() != 0) return false;
  const DType a = elementDType(use.get().getType()), b = elementDType(op->getOperand(1).getType());
  const bool isFloat = b == DType::f32 || isNarrowFloat(b);
  // Skinny products read B in place, as f32 even on processors with tiles.
  const bool widens =
      rowsOf(use.get()) > kSkinnyRows ? multipliesAsF32(a, b, processor) : !multipliesBf16Pairs(a, b, processor);
  return isFloat && elementDType(op->getResult(0).getType()) == DType::f32 &&
         elementDType(op->getOperand(2).getType()) == DType::f32 && widens;
}

}  // namespace

DType storageDType(const Processor& processor, mlir::Value v) {
  const DType t = elementDType(v.getType());
  if (!isNarrowFloat(t) || v.use_empty()) return t;
  const bool wide = llvm::all_of(v.getUses(), [&](mlir::OpOperand& use) { return isReadAsF32(processor, use); });
  return wide ? DType::f32 : t;
}

}  // namespace smalti::cpu
