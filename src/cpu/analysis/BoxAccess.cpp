#include "cpu/analysis/BoxAccess.h"

#include "ir/TpuOpsMemory.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/Constants.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {

std::optional<BoxAccess> boxAccess(mlir::Operation& op) {
  BoxAccess access;
  access.isStore = llvm::isa<tpu::VectorStoreOp, mlir::vector::StoreOp>(op);
  if (!access.isStore && !llvm::isa<mlir::vector::LoadOp>(op)) return std::nullopt;
  const unsigned skipped = access.isStore ? 2 : 1;
  access.firstIndex = skipped;
  access.ref = op.getOperand(skipped - 1);
  access.value = access.isStore ? op.getOperand(0) : op.getResult(0);
  const Shape ref = shapeOf(access.ref.getType()), box = shapeOf(access.value.getType());
  if (op.getNumOperands() != skipped + ref.size() || ref.size() != box.size() || boolAttribute(op, "add") ||
      !integersAttribute(op, "strides").empty())
    return std::nullopt;
  for (size_t d = 0; d < ref.size(); ++d)
    access.whole.push_back(ref[d] == box[d] && constantIndex(op.getOperand(skipped + static_cast<unsigned>(d))) == 0);
  return access;
}

std::optional<WholeAccess> wholeAccess(mlir::Operation& op) {
  auto access = boxAccess(op);
  if (!access || !llvm::all_of(access->whole, [](bool whole) { return whole; })) return std::nullopt;
  return *access;
}

}  // namespace smalti::cpu
