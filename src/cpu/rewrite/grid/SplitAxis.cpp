#include "cpu/rewrite/grid/SplitAxis.h"

#include <fmt/format.h>

#include "cpu/analysis/AxisDims.h"
#include "cpu/analysis/Parallel.h"
#include "cpu/rewrite/grid/ResizeAxis.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsDebug.h"
#include "ir/TpuOpsShape.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/IndexMaps.h"
#include "ir/facts/OpFamilies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

namespace smalti::cpu {
namespace {

/// What a step does happens once per part: it may only store what the parts divide.
bool changesOnlyParts(mlir::func::FuncOp kernel, const AxisDims& dims, int axis) {
  return !kernel
              .walk([&](mlir::Operation* op) {
                if (op == kernel || op->hasTrait<mlir::OpTrait::IsTerminator>()) return mlir::WalkResult::advance();
                const auto access = boxAccess(*op);
                // AxisDims knows no other ops with regions than conditions and loops.
                const bool known = access ? !access->isStore || dims.follows(access->value, axis)
                                          : op->getNumRegions() > 0 || isPure(*op) || isLoad(*op) || isView(*op) ||
                                                llvm::isa<tpu::TraceStartOp, tpu::TraceStopOp>(op);
                return known ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// Whether points that differ in their index on the axis are independent. If runs of its steps are, which write the
/// same blocks, and each step writes blocks of its own, its steps are.
bool hasIndependentPoints(const KernelPackage& package, const AxisDims& dims, int axis) {
  const ParallelPlan plan = planParallel(package);
  if (axis < plan.axes) return true;
  const KernelArguments arguments(package);
  bool own = plan.runs && axis == plan.axes;
  for (size_t i = arguments.numInputs(); i < arguments.numBlocks(); ++i)
    own = own && dims.follows(arguments.block(i), axis);
  return own;
}

/// Gives the function the index of the block in place of that of the part; returns the first element of the part.
mlir::Value useIndexOfBlock(mlir::func::FuncOp function, int axis, int64_t parts, int64_t part) {
  mlir::BlockArgument index = function.getArgument(static_cast<unsigned>(axis));
  auto b = mlir::OpBuilder::atBlockBegin(&function.getBody().front());
  const auto loc = function.getLoc();
  const auto number = [&](int64_t i) -> mlir::Value {
    return mlir::arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(i)));
  };
  auto block = mlir::arith::DivSIOp::create(b, loc, index, number(parts));
  auto inBlock = mlir::arith::RemSIOp::create(b, loc, index, number(parts));
  index.replaceUsesWithIf(block, [&](mlir::OpOperand& use) {
    return use.getOwner() != block.getOperation() && use.getOwner() != inBlock.getOperation();
  });
  return mlir::arith::MulIOp::create(b, loc, inBlock, number(part));
}

/// A map of the window's own, which returns the index of the part where the window has parts.
void splitMap(KernelPackage& package, size_t number, int axis, int64_t parts, int64_t part) {
  Window& window = *package.signature.windows[number];
  const size_t rank = package.signature.grid.size();
  auto map = KernelArguments(package).indexMap(window);
  const IndexMapFacts facts(map, rank);
  if (!facts.uses(static_cast<size_t>(axis))) return;
  auto own = llvm::cast<mlir::func::FuncOp>(map->clone());
  window.transform = fmt::format("{}_part_{}", window.transform, number);
  own.setSymName(window.transform);
  package.module->push_back(own);
  useIndexOfBlock(own, axis, parts, part);
  auto returned = llvm::cast<mlir::func::ReturnOp>(own.getBody().front().getTerminator());
  for (size_t d = 0; d < window.bounds.size(); ++d) {
    const auto& form = facts.coordinates()[d].form;
    if (!form || form->gridIndex() != static_cast<size_t>(axis) || window.bounds[d] != part * parts) continue;
    returned.setOperand(static_cast<unsigned>(d), own.getArgument(static_cast<unsigned>(axis)));
    window.bounds[d] = part;
  }
}

}  // namespace

bool canSplitAxis(const KernelPackage& package, const AxisDims& dims, int axis) {
  const auto isWindow = [](const std::optional<Window>& w) { return w && w->revisitMode != RevisitMode::any; };
  return dims.free(axis) && !dims.contracted(axis) && package.aliases.empty() &&
         llvm::all_of(package.signature.windows, isWindow) && hasIndependentPoints(package, dims, axis) &&
         changesOnlyParts(package.kernelFunction(), dims, axis);
}

std::optional<KernelPackage> splitAxis(const KernelPackage& package, int axis, int64_t part) {
  KernelPackage made = package.copy();
  const auto dims = AxisDims::ofParts(made);
  if (!dims || !canSplitAxis(made, *dims, axis) || dims->block(axis) % part != 0) return std::nullopt;
  const int64_t parts = dims->block(axis) / part;
  auto kernel = made.kernelFunction();
  std::vector<mlir::Operation*> numbered;
  kernel.walk([&](tpu::IotaOp op) {
    const auto d = static_cast<size_t>(integersAttribute(*op, "dimensions")[0]);
    if (dims->axisOf(op->getResult(0), d) == axis) numbered.push_back(op);
  });
  resizeValues(made, *dims, axis, part);
  mlir::Value first = useIndexOfBlock(kernel, axis, parts, part);
  for (mlir::Operation* op : numbered) {
    mlir::OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    auto beginning = mlir::vector::BroadcastOp::create(b, op->getLoc(), op->getResult(0).getType(), first);
    auto sum = mlir::arith::AddIOp::create(b, op->getLoc(), op->getResult(0), beginning);
    op->getResult(0).replaceAllUsesExcept(sum, sum);
  }
  for (size_t i = 0; i < made.signature.windows.size(); ++i) splitMap(made, i, axis, parts, part);
  made.signature.grid[static_cast<size_t>(axis)] = (dims->extent(axis) + part - 1) / part;
  return made;
}

}  // namespace smalti::cpu
