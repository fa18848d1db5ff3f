#include "driver/cli/show/KernelChoice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace smalti::cli {

Result<const KernelPackage*> chooseKernel(const driver::LoadedModule& module, const std::string& choice) {
  std::vector<std::string> names;
  const KernelPackage* byName = nullptr;
  bool isAmbiguous = false;
  for (size_t i = 0; i < module.numKernels(); ++i) {
    const KernelPackage* kernel = module.kernel(i);
    names.push_back(fmt::format("{}: {}", i, kernel->name));
    if (choice == std::to_string(i) || (choice.empty() && module.numKernels() == 1)) return kernel;
    if (kernel->name != choice) continue;
    isAmbiguous = byName != nullptr;
    byName = kernel;
  }
  if (byName && !isAmbiguous) return byName;
  return fail(
      {.code = "SM1020",
       .message = choice.empty() ? fmt::format("'{}' contains {} kernels", module.path, names.size())
                  : isAmbiguous  ? fmt::format("'{}' contains several kernels '{}'", module.path, choice.substr(0, 100))
                                 : fmt::format("'{}' contains no kernel '{}'", module.path, choice.substr(0, 100)),
       .place = {},
       .need = names.empty() ? "a module with a kernel" : fmt::format("--kernel, one of {}", fmt::join(names, ", "))});
}

}  // namespace smalti::cli
