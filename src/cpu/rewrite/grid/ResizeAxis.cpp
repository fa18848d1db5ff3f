#include "cpu/rewrite/grid/ResizeAxis.h"

#include "cpu/analysis/AxisDims.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsDebug.h"
#include "ir/facts/IndexMaps.h"
#include "ir/facts/OpFamilies.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti::cpu {

void resizeValues(KernelPackage& package, const AxisDims& dims, int axis, int64_t block) {
  auto kernel = package.kernelFunction();
  const auto resized = [&](mlir::Value v) -> mlir::Type {
    auto type = llvm::dyn_cast<mlir::ShapedType>(v.getType());
    if (!type || !dims.follows(v, axis)) return {};
    llvm::SmallVector<int64_t> shape(type.getShape());
    for (size_t d = 0; d < shape.size(); ++d)
      if (dims.axisOf(v, d) == axis) shape[d] = block;
    return type.clone(shape);
  };
  llvm::SmallVector<mlir::Type> inputs;
  for (mlir::BlockArgument argument : kernel.getArguments()) {
    if (auto type = resized(argument)) argument.setType(type);
    inputs.push_back(argument.getType());
  }
  kernel.setFunctionType(mlir::FunctionType::get(kernel.getContext(), inputs, {}));
  kernel.getBody().front().walk([&](mlir::Operation* op) {
    for (mlir::Value v : op->getResults())
      if (auto type = resized(v)) {
        v.setType(type);
        if (auto value = op->getAttrOfType<mlir::DenseElementsAttr>("value"))
          op->setAttr("value", value.resizeSplat(llvm::cast<mlir::ShapedType>(type)));
      }
  });
}

void resizeAxis(KernelPackage& package, int axis, int64_t block) {
  const auto dims = AxisDims::of(package);
  resizeValues(package, *dims, axis, block);
  KernelSignature& s = package.signature;
  const auto number = static_cast<size_t>(axis);
  s.grid[number] = (dims->extent(axis) + block - 1) / block;
  for (auto& window : s.windows) {
    const IndexMapFacts map(KernelArguments(package).indexMap(*window), s.grid.size());
    for (size_t d = 0; d < map.coordinates().size(); ++d)
      if (const auto& form = map.coordinates()[d].form; form && form->gridIndex() == number) window->bounds[d] = block;
  }
}

bool independentSteps(const KernelPackage& package) {
  const KernelArguments arguments(package);
  if (arguments.numScratch() > 0) return false;
  auto kernel = arguments.function();
  const auto isInput = [&](mlir::Value v) {
    const auto role = arguments.roleOf(v);
    return role && role->kind == ArgumentRole::input;
  };
  for (mlir::Operation& op : kernel.getBody().front().without_terminator()) {
    const auto access = wholeAccess(op);
    if (!access && !isPure(op)) {
      if (llvm::isa<tpu::TraceStartOp, tpu::TraceStopOp>(op)) continue;
      const auto isRef = [](mlir::Value v) { return llvm::isa<mlir::MemRefType>(v.getType()); };
      if (isLoad(op) && llvm::all_of(llvm::make_filter_range(op.getOperands(), isRef), isInput)) continue;
      return false;
    }
    // JAX loads what a store replaces.
    if (!access || (!access->isStore && access->value.use_empty())) continue;
    const auto role = arguments.roleOf(access->ref);
    if (!role || access->isStore != (role->kind == ArgumentRole::output)) return false;
  }
  for (size_t i = arguments.numInputs(); i < arguments.numBlocks(); ++i) {
    const Window& window = *arguments.windowOf(i);
    const IndexMapFacts map(arguments.indexMap(window), arguments.gridRank());
    if (!llvm::all_of(injectiveAxes(map, window, package.signature.grid), [](bool injective) { return injective; }))
      return false;
  }
  return true;
}

}  // namespace smalti::cpu
