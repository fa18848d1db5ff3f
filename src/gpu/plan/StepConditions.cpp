#include "gpu/plan/StepConditions.h"

#include "ir/KernelArguments.h"
#include "ir/facts/Branches.h"
#include "ir/facts/GridScalars.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace smalti::gpu {

std::vector<mlir::Value> stepConditions(const KernelPackage& package, const cpu::GridPlan& grid) {
  const KernelArguments arguments(package);
  for (size_t i = 0; i < arguments.numBlocks(); ++i)
    if (arguments.windowOf(i) && (grid.blocks[i].access != cpu::BlockAccess::view || grid.blocks[i].isPartial ||
                                  !grid.blocks[i].maybeOutside.empty()))
      return {};
  std::vector<mlir::Value> conditions;
  for (mlir::Operation& op : mlir::func::FuncOp(arguments.function()).getBody().front().without_terminator()) {
    if (mlir::isPure(&op)) continue;
    auto branch = llvm::dyn_cast<mlir::scf::IfOp>(op);
    if (!branch || branch.getNumResults() > 0 || !doesNothing(branch.getElseRegion()) ||
        !isOfGrid(arguments, branch.getCondition()))
      return {};
    conditions.push_back(branch.getCondition());
  }
  return conditions;
}

}  // namespace smalti::gpu
