#include "cpu/analysis/ProductStore.h"

#include "ir/TpuOpsMemory.h"
#include "ir/Types.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "schedule/UnitDims.h"

namespace smalti::cpu {

bool isUnitReshape(mlir::Operation& op) {
  return llvm::isa<mlir::vector::ShapeCastOp>(op) &&
         schedule::unitReshape(shapeOf(op.getOperand(0).getType()), shapeOf(op.getResult(0).getType())).has_value();
}

std::optional<ProductStore> findProductStore(mlir::Operation& product) {
  ProductStore found;
  mlir::Value value = product.getResult(0);
  while (value.hasOneUse() && (*value.user_begin())->getBlock() == product.getBlock()) {
    mlir::Operation* user = *value.user_begin();
    if (auto store = llvm::dyn_cast<tpu::VectorStoreOp>(user)) {
      if (store.getMask() || store.getAdd() || store.getValueToStore() != value) return std::nullopt;
      found.store = user;
      found.chain.push_back(user);
      return found;
    }
    if (llvm::isa<mlir::arith::AddFOp, mlir::arith::AddIOp>(user) && !found.added)
      found.added = user->getOperand(user->getOperand(0) == value ? 1 : 0);
    else if (!isUnitReshape(*user))
      return std::nullopt;
    found.chain.push_back(user);
    value = user->getResult(0);
  }
  return std::nullopt;
}

std::vector<mlir::Operation*> opsBetween(mlir::Operation& product, const ProductStore& destination) {
  std::vector<mlir::Operation*> between;
  for (mlir::Operation* op = product.getNextNode(); op != destination.store; op = op->getNextNode())
    if (!llvm::is_contained(destination.chain, op)) between.push_back(op);
  return between;
}

}  // namespace smalti::cpu
