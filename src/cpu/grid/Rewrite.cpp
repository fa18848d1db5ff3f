#include "cpu/grid/Rewrite.h"

#include "cpu/grid/EqualColumns.h"
#include "cpu/grid/OwnSteps.h"

namespace smalti::cpu {

std::optional<KernelPackage> rewritten(const KernelPackage& package, const Processor& processor, int cores) {
  std::optional<KernelPackage> made = withSingleColumns(package);
  if (auto other = inOwnSteps(made ? *made : package, processor, cores)) made = std::move(other);
  return made;
}

}  // namespace smalti::cpu
