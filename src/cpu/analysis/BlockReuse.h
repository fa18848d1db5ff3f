// Finds blocks of inputs that grid steps use again soon.
#pragma once

#include <optional>
#include <vector>

#include "ir/BlockGeometry.h"
#include "ir/facts/IndexMaps.h"

namespace smalti::cpu {

/// The order of grid steps.
struct StepOrder {
  size_t fastest = 0;        ///< the axis along which consecutive steps move
  std::vector<size_t> axes;  ///< all axes, fastest first
};

/// The dimensions of the array along which steps cycle through the same blocks more than once before they move on to
/// others, as each block of queries reads all blocks of keys. Empty: consecutive steps may use the same block.
/// nullopt: no block is used again soon.
std::optional<std::vector<size_t>> findReuse(const IndexMapFacts&, const Window&, const BlockGeometry&,
                                             const std::vector<int64_t>& grid, const StepOrder&);

}  // namespace smalti::cpu
