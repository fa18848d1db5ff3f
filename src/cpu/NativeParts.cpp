#include "cpu/NativeParts.h"

#include <fmt/format.h>

#include "cpu/lower/Parallel.h"
#include "machine/runtime/Boundary.h"

namespace smalti::cpu {

std::optional<NotNative> unsuitableArrays(const KernelPackage& package) {
  auto function = package.kernelFunction();
  const KernelSignature& s = package.signature;
  size_t at = s.grid.size();
  const auto check = [&](const ArrayType& array) -> std::optional<NotNative> {
    auto type = llvm::cast<mlir::MemRefType>(function.getArgument(static_cast<unsigned>(at++)).getType());
    if (machine::storageDiffers(array.dtype, elementDType(type)))
      return fmt::format("{} arrays are stored otherwise inside kernels", name(array.dtype));
    return std::nullopt;
  };
  for (size_t i = static_cast<size_t>(s.numDynamicBounds()); i < package.operands.size(); ++i)
    if (auto why = check(package.operands[i])) return why;
  for (const ArrayType& t : package.results)
    if (auto why = check(t)) return why;
  return std::nullopt;
}

tl::expected<LoweredKernel, NotNative> lowerPlanned(const KernelPackage& package, const NativeOptions& options,
                                                    llvm::Module& module, NativeReport& report,
                                                    InterpretedOps& interpreted) {
  const ParallelPlan plan = planParallel(package);
  report.sharedAxes = plan.axes;
  report.inOrder = plan.reason;
  return lowerKernel(package, module, options.processor, report, interpreted, plan.axes, options.poison);
}

}  // namespace smalti::cpu
