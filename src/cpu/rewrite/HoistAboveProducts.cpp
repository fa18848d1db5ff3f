#include "cpu/rewrite/HoistAboveProducts.h"

#include "cpu/analysis/ProductStore.h"
#include "ir/TpuOpsMxu.h"
#include "ir/facts/Constants.h"
#include "ir/facts/OpFamilies.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu {
namespace {

using ProductBody = llvm::function_ref<void(mlir::Operation& product, llvm::ArrayRef<mlir::Operation*> toMove)>;

/// Calls `body` for every product with ops to move, in program order.
void forProductsToMove(const KernelPackage& package, ProductBody body) {
  llvm::SmallVector<tpu::MatmulOp> products;
  package.kernelFunction().walk([&](tpu::MatmulOp op) { products.push_back(op); });
  llvm::DenseSet<mlir::Operation*> stores;  // of earlier products
  for (tpu::MatmulOp product : products) {
    if (!isZero(product.getAcc())) continue;
    const auto destination = findProductStore(*product);
    if (!destination || !stores.insert(destination->store).second) continue;
    const auto between = opsBetween(*product, *destination);
    const bool movable = llvm::all_of(between, [](mlir::Operation* op) { return isPure(*op) || isLoad(*op); });
    if (movable && !between.empty()) body(*product, between);
  }
}

}  // namespace

std::optional<KernelPackage> hoistAboveProducts(const KernelPackage& package) {
  bool any = false;
  forProductsToMove(package, [&](auto&, auto) { any = true; });
  if (!any) return std::nullopt;
  KernelPackage made = package.copy();
  forProductsToMove(made, [](mlir::Operation& product, llvm::ArrayRef<mlir::Operation*> toMove) {
    for (mlir::Operation* op : toMove) op->moveBefore(&product);
  });
  return made;
}

}  // namespace smalti::cpu
