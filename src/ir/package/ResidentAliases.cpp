// Results that the compiler places in VMEM or SMEM themselves (output_memory_space_colors): the kernel gets that
// memory, not a window on it, and an operand aliased with such a result is the same memory.
#include <algorithm>

#include "ir/KernelArguments.h"
#include "ir/package/Checks.h"

namespace smalti::package {
namespace {

constexpr int64_t kVmemColor = 1, kSmemColor = 4;

bool isResident(const KernelPackage& package, size_t output) {
  return std::ranges::any_of(package.config.outputMemorySpaceColors, [&](const KernelConfig::MemorySpaceColor& c) {
    return (c.color == kVmemColor || c.color == kSmemColor) && c.index.value_or(0) == static_cast<int64_t>(output);
  });
}

bool isWhole(const std::optional<Window>& window, const ArrayType& array) {
  return !window || window->bounds == array.shape;
}

}  // namespace

void joinResidentAliases(KernelPackage& package) {
  const KernelArguments arguments(package);
  for (size_t o = 0; o < arguments.numOutputs(); ++o) {
    const auto input = arguments.aliasedInput(o);
    const size_t block = arguments.numInputs() + o;
    if (!input || !isResident(package, o)) continue;
    if (!isWhole(arguments.windowOf(*input), arguments.arrayOf(*input)) ||
        !isWhole(arguments.windowOf(block), arguments.arrayOf(block)))
      continue;
    if (arguments.input(*input).getType() != arguments.output(o).getType()) continue;
    // One name for both; it starts with what the operand holds.
    arguments.input(*input).replaceAllUsesWith(arguments.output(o));
    if (auto& window = package.signature.windows[block]) window->revisitMode = RevisitMode::any;
  }
}

}  // namespace smalti::package
