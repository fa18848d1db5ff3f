#include "cpu/rewrite/grid/FoldGridBounds.h"

#include <vector>

#include "ir/TpuOpsDebug.h"
#include "ir/facts/Attributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace smalti::cpu {
namespace {

std::vector<tpu::IterationBoundOp> staticBounds(const KernelPackage& package) {
  const std::vector<int64_t>& grid = package.signature.grid;
  std::vector<tpu::IterationBoundOp> found;
  package.kernelFunction().walk([&](tpu::IterationBoundOp op) {
    const int64_t axis = integerAttribute(*op, "dim", -1);
    if (axis >= 0 && axis < static_cast<int64_t>(grid.size()) && grid[static_cast<size_t>(axis)] != kDynamicBound)
      found.push_back(op);
  });
  return found;
}

}  // namespace

std::optional<KernelPackage> foldGridBounds(const KernelPackage& package) {
  if (staticBounds(package).empty()) return std::nullopt;
  KernelPackage made = package.copy();
  for (tpu::IterationBoundOp op : staticBounds(made)) {
    mlir::OpBuilder b(op);
    const int64_t bound = made.signature.grid[static_cast<size_t>(integerAttribute(*op, "dim", -1))];
    auto constant = mlir::arith::ConstantOp::create(b, op.getLoc(), b.getI32IntegerAttr(static_cast<int32_t>(bound)));
    op->replaceAllUsesWith(constant);
    op->erase();
  }
  return made;
}

}  // namespace smalti::cpu
