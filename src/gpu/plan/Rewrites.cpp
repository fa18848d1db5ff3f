#include "gpu/plan/Rewrites.h"

#include "cpu/rewrite/ApproximateExponentials.h"
#include "cpu/rewrite/DivideMoves.h"
#include "cpu/rewrite/LaneBroadcastElimination.h"
#include "cpu/rewrite/MatrixUnitProducts.h"
#include "cpu/rewrite/MultiplyNarrowFloats.h"
#include "cpu/rewrite/grid/CollapseReductionAxis.h"
#include "cpu/rewrite/grid/FoldGridBounds.h"
#include "gpu/plan/DivideRows.h"
#include "gpu/plan/FitProducts.h"
#include "gpu/plan/FuseScale.h"
#include "gpu/plan/RoundedResults.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/FoldUtils.h"

namespace smalti::gpu {
namespace {

bool isIndexArithmetic(mlir::Operation& op) {
  return op.getNumResults() == 1 && op.getResult(0).getType().isIntOrIndex() &&
         !op.hasTrait<mlir::OpTrait::ConstantLike>() && llvm::isa<mlir::arith::ArithDialect>(op.getDialect());
}

/// Computes scalars of constants, such as the beginnings of the parts of a block in a loop that JAX has unrolled.
std::optional<KernelPackage> foldScalars(const KernelPackage& package) {
  KernelPackage made = package.copy();
  mlir::func::FuncOp kernel = made.kernelFunction();
  std::vector<mlir::Operation*> ops;
  kernel.walk([&](mlir::Operation* op) {
    if (isIndexArithmetic(*op)) ops.push_back(op);
  });
  mlir::OperationFolder folder(kernel.getContext());
  bool changed = false;
  for (mlir::Operation* op : ops) changed |= mlir::succeeded(folder.tryToFold(op));
  return changed ? std::optional(std::move(made)) : std::nullopt;
}

/// JAX loads what a store is about to replace.
std::optional<KernelPackage> dropUnusedLoads(const KernelPackage& package) {
  const auto opsOf = [](const KernelPackage& p) {
    size_t ops = 0;
    p.kernelFunction().walk([&](mlir::Operation*) { ++ops; });
    return ops;
  };
  KernelPackage made = package.copy();
  cpu::dropUnused(made);
  return opsOf(made) < opsOf(package) ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace

std::optional<KernelPackage> rewriteForGpus(const KernelPackage& package, const Architecture& architecture,
                                            const GpuParams& params) {
  std::optional<KernelPackage> now;
  for (const auto pass : {dropUnusedLoads, cpu::foldGridBounds, foldScalars, cpu::divideMoves,
                          cpu::multiplyWithoutUnits, cpu::eliminateLaneBroadcasts, cpu::multiplyNarrowFloats,
                          cpu::approximateExponentials, shortenRoundedResults, fuseScale, divideRows})
    if (auto made = pass(now ? *now : package)) now = std::move(made);
  if (auto made = fitProducts(now ? *now : package, architecture, params)) now = std::move(made);
  return now;
}

}  // namespace smalti::gpu
