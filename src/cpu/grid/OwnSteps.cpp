#include "cpu/grid/OwnSteps.h"

#include "cpu/grid/EdgeMasks.h"
#include "cpu/grid/FitBlocks.h"
#include "cpu/grid/Reblock.h"

namespace smalti::cpu {

std::optional<KernelPackage> inOwnSteps(const KernelPackage& package, const Processor& processor, int cores) {
  // Without masks only where the sum is one step, in whose blocks nothing hangs over.
  if (const auto plain = withoutEdgeMasks(package))
    if (auto made = reblocked(*plain, processor, cores); made && made->signature.grid.back() == 1) return made;
  if (auto made = reblocked(package, processor, cores)) return made;
  return fitted(package);
}

}  // namespace smalti::cpu
