// How caches are used for a grid's blocks: which blocks steps use again, and which arrays are larger than the caches.
#pragma once

#include <optional>
#include <vector>

#include "cpu/Processor.h"
#include "cpu/plan/GridPlan.h"

namespace smalti::cpu {

/// Of the blocks of one input or output that has a window; what has none keeps the defaults.
struct BlockLocality {
  bool prefetchesNext = false;  ///< the next step's block is computed a step early, to be prefetched
  /// Dimensions along which steps use the same blocks of an input again soon (analysis/BlockReuse.h).
  std::optional<std::vector<size_t>> reuse{};
  bool isInDram = false;       ///< the input is too large for the caches
  bool isNonTemporal = false;  ///< the output is written with non-temporal stores
};

/// By block of the plan. `streams`: results may be written with non-temporal stores.
std::vector<BlockLocality> planLocality(const KernelPackage&, const GridPlan&, const Processor&, bool streams);

}  // namespace smalti::cpu
