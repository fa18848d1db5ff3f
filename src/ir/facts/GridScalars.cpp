#include "ir/facts/GridScalars.h"

#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace smalti {

bool isArithmeticOn(mlir::Value scalar, llvm::function_ref<bool(mlir::BlockArgument)> isKnown,
                    llvm::function_ref<bool(mlir::Operation&)> accepts) {
  constexpr size_t kMost = 64;  // code computes them in each step
  llvm::SmallVector<mlir::Value, 8> open{scalar};
  llvm::DenseSet<mlir::Value> seen;
  while (!open.empty()) {
    const mlir::Value at = open.pop_back_val();
    if (!seen.insert(at).second) continue;
    if (seen.size() > kMost || !at.getType().isIntOrIndex()) return false;
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(at)) {
      if (!isKnown(argument)) return false;
      continue;
    }
    mlir::Operation* op = at.getDefiningOp();
    const bool isLoad = llvm::isa<mlir::memref::LoadOp>(op);
    if ((!isLoad && op->getDialect()->getNamespace() != "arith") || !accepts(*op)) return false;
    open.append(op->operand_begin() + (isLoad ? 1 : 0), op->operand_end());
  }
  return true;
}

}  // namespace smalti
