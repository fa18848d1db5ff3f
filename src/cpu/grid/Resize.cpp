#include "cpu/grid/Resize.h"

#include "cpu/grid/AxisDims.h"
#include "cpu/lower/DistinctBlocks.h"
#include "machine/flat/Liveness.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti::cpu {

void resizeAxis(KernelPackage& package, int axis, int64_t block) {
  auto dims = AxisDims::of(package);
  auto kernel = package.kernelFunction();
  const auto resized = [&](mlir::Value v) -> mlir::Type {
    auto type = llvm::dyn_cast<mlir::ShapedType>(v.getType());
    if (!type || !dims->follows(v, axis)) return {};
    llvm::SmallVector<int64_t> shape(type.getShape());
    for (size_t d = 0; d < shape.size(); ++d)
      if (dims->axisOf(v, d) == axis) shape[d] = block;
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
  KernelSignature& s = package.signature;
  const auto number = static_cast<size_t>(axis);
  s.grid[number] = (dims->extent(axis) + block - 1) / block;
  for (auto& window : s.windows) {
    auto map = llvm::cast<mlir::func::FuncOp>(package.module.get().lookupSymbol(window->transform));
    mlir::Operation* end = map.getBody().front().getTerminator();
    for (unsigned d = 0; d < end->getNumOperands(); ++d)
      if (end->getOperand(d) == map.getArgument(static_cast<unsigned>(axis))) window->bounds[d] = block;
  }
}

bool independentSteps(const KernelPackage& package) {
  const KernelSignature& s = package.signature;
  if (s.numScratch > 0) return false;
  auto kernel = package.kernelFunction();
  const auto inputs = static_cast<size_t>(package.numInputs());
  for (mlir::Operation& op : kernel.getBody().front().without_terminator()) {
    const auto access = wholeAccess(op);
    if (!access && !machine::flat::isPure(op)) return false;
    // JAX loads what a store replaces.
    if (!access || (!access->isStore && access->value.use_empty())) continue;
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(access->ref);
    if (!argument) return false;
    const bool isOutput = argument.getArgNumber() >= kernel.getNumArguments() - package.results.size();
    if (access->isStore != isOutput) return false;
  }
  for (size_t w = inputs; w < s.windows.size(); ++w) {
    auto map = llvm::cast<mlir::func::FuncOp>(package.module.get().lookupSymbol(s.windows[w]->transform));
    if (!llvm::all_of(distinguishes(map, *s.windows[w], s.grid), [](bool told) { return told; })) return false;
  }
  return true;
}

}  // namespace smalti::cpu
