#include "schedule/ScheduledOp.h"

#include <algorithm>

#include "ir/TpuOpsShape.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "schedule/ElementMap.h"
#include "schedule/UnitDims.h"

namespace smalti::schedule {
namespace {

bool hasUnitSteps(mlir::Operation& slice) {
  return std::ranges::all_of(integersAttribute(slice, "strides"), [](int64_t s) { return s == 1; });
}

}  // namespace

bool isRematerializableShapeOp(mlir::Operation& op) {
  if (llvm::isa<mlir::vector::BroadcastOp>(op)) return true;
  if (llvm::isa<mlir::vector::ShapeCastOp>(op))
    return unitReshape(shapeOf(op.getOperand(0).getType()), shapeOf(op.getResult(0).getType())).has_value();
  if (llvm::isa<mlir::vector::ExtractStridedSliceOp>(op)) return hasUnitSteps(op);
  if (llvm::isa<tpu::IotaOp>(op)) return iotaDimension(op) >= 0 && !is_float(elementDType(op.getResult(0).getType()));
  return false;
}

bool isRematerializable(const ScheduledOp& p) {
  return p.isLoad() || (!p.isStore() && isRematerializableShapeOp(*p.op));
}

bool isReduction(mlir::Operation& op) { return llvm::isa<mlir::vector::MultiDimReductionOp>(op); }

bool isRowReduction(mlir::Operation& op) {
  const Shape shape = shapeOf(op.getOperand(0).getType());
  const auto dims = integersAttribute(op, "reduction_dims");
  const auto reduced = [&](size_t d) { return std::ranges::find(dims, static_cast<int64_t>(d)) != dims.end(); };
  if (shape.empty() || shape.back() == 1 || !reduced(shape.size() - 1)) return false;
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    if (shape[d] != 1 && reduced(d)) return false;
  return true;
}

bool isSplatConstant(mlir::Value v) {
  auto op = v.getDefiningOp<mlir::arith::ConstantOp>();
  if (!op) return false;
  auto dense = llvm::dyn_cast_or_null<mlir::DenseElementsAttr>(op->getAttr("value"));
  return dense && dense.isSplat();
}

}  // namespace smalti::schedule
