#include "driver/compile/AssumeShapes.h"

#include <algorithm>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ir/Types.h"
#include "ir/package/Checks.h"

namespace smalti::driver {

Status assumeShapes(LoadedModule& module) {
  if (!module.bare) return requireShapes(module);
  mlir::func::FuncOp f = module.bare->kernelFunction();
  if (!f) return {};
  package::Violations violations(module.bare->name, placeOf(f.getLoc()));
  const KernelSignature signature = package::readSignature(f, violations);
  std::vector<ArrayType> operands(static_cast<size_t>(signature.numDynamicBounds()), ArrayType{DType::i32, {}});
  const size_t refs = f.getNumArguments() - std::min<size_t>(f.getNumArguments(), signature.numScratch);
  for (size_t i = signature.grid.size(); i < refs; ++i) {
    auto array = arrayTypeOf(f.getArgument(static_cast<unsigned>(i)).getType()).value_or(ArrayType{DType::i32, {}});
    const size_t window = i - signature.grid.size() - static_cast<size_t>(signature.numScalarPrefetch);
    if (window < signature.windows.size() && signature.windows[window]) array.shape = signature.windows[window]->bounds;
    operands.push_back(std::move(array));
  }
  if (operands.empty()) return {};
  // The text does not say which of them are results, either; it does not matter here.
  const std::vector<ArrayType> results{operands.back()};
  operands.pop_back();
  return setShapes(module, operands, results);
}

}  // namespace smalti::driver
