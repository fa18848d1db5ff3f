#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "base/Text.h"
#include "interop/Interop.h"
#include "interop/MissingInfinities.h"

namespace smalti::interop {

Result<mlir::OwningOpRef<mlir::ModuleOp>> readBody(std::string_view content, mlir::MLIRContext& context,
                                                   const std::string& fileName) {
  auto module = content.starts_with("ML\xEFR") ? readBytecode(content, context, fileName)
                                               : readMosaicText(content, context, fileName);
  if (module) replaceMissingInfinities(**module);
  return module;
}

Result<KernelPackage> importKernel(std::string_view content, const std::string& fileName) {
  KernelPackage kernel;
  kernel.context = makeContext();
  auto module = readBody(content, *kernel.context, fileName);
  if (!module) return fail(std::move(module.error()));
  kernel.module = std::move(*module);
  if (auto function = kernel.kernelFunction()) {
    // Before 2026 the function was always `main` and the module carried the kernel's name.
    const auto moduleName = kernel.module->getSymName();
    kernel.name = printable(moduleName && function.getSymName() == "main" ? *moduleName : function.getSymName());
  }
  return kernel;
}

}  // namespace smalti::interop
