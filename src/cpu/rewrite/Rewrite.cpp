#include "cpu/rewrite/Rewrite.h"

#include "cpu/rewrite/EdgeMasks.h"
#include "cpu/rewrite/EqualColumns.h"
#include "cpu/rewrite/FitBlocks.h"
#include "cpu/rewrite/Reblock.h"

namespace smalti::cpu {

std::optional<KernelPackage> rewritten(const KernelPackage& package, const Processor& processor, int cores) {
  std::optional<KernelPackage> columns = withSingleColumns(package);
  const KernelPackage& now = columns ? *columns : package;
  // Without masks only where the sum is one step, in whose blocks nothing hangs over.
  if (const auto plain = withoutEdgeMasks(now))
    if (auto made = reblocked(*plain, processor, cores); made && made->signature.grid.back() == 1) return made;
  if (auto made = reblocked(now, processor, cores)) return made;
  if (auto made = fitted(now)) return made;
  return columns;
}

}  // namespace smalti::cpu
