#include "cpu/analysis/BlockReuse.h"

namespace smalti::cpu {

std::optional<std::vector<size_t>> findReuse(const IndexMapFacts& map, const Window& window,
                                             const BlockGeometry& geometry, const std::vector<int64_t>& grid,
                                             const StepOrder& order) {
  // Steps along this axis may use the same block, since its index is unused, or only used in a look-up.
  if (map.onlyLooksUp(order.fastest)) return std::vector<size_t>{};
  if (window.elementIndexed) return std::nullopt;
  std::vector<size_t> reusedDims;
  int64_t blocks = 1;
  std::vector<bool> moves(grid.size());  // axes along which the set of blocks changes
  for (size_t d = 0; d < map.coordinates().size(); ++d) {
    const std::vector<bool>& axes = map.coordinates()[d].axes;
    if (!axes[order.fastest]) {
      for (size_t a = 0; a < grid.size(); ++a) moves[a] = moves[a] || axes[a];
      continue;
    }
    if (geometry.numWholeBlocks(d) == 0) return std::nullopt;
    reusedDims.push_back(d);
    blocks *= geometry.numWholeBlocks(d);
  }
  int64_t steps = 1;
  for (const size_t a : order.axes) {
    if (grid[a] == kDynamicBound || (moves[a] && grid[a] > 1)) break;
    steps *= grid[a];
  }
  if (steps <= blocks) return std::nullopt;
  return reusedDims;
}

}  // namespace smalti::cpu
