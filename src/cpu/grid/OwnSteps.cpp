#include "cpu/grid/OwnSteps.h"

#include "cpu/grid/FitBlocks.h"
#include "cpu/grid/Reblock.h"

namespace smalti::cpu {

std::optional<KernelPackage> inOwnSteps(const KernelPackage& package, const Processor& processor, int cores) {
  if (auto made = reblocked(package, processor, cores)) return made;
  return fitted(package);
}

}  // namespace smalti::cpu
