// Blocks of inputs that steps of the grid see again soon.
#pragma once

#include <optional>
#include <vector>

#include "ir/BlockGeometry.h"
#include "ir/facts/IndexMaps.h"

namespace smalti::cpu {

/// How steps follow each other.
struct StepOrder {
  size_t fastest = 0;        ///< axis of neighbouring steps
  std::vector<size_t> axes;  ///< all, fastest first
};

/// Dimensions of the array along which steps see blocks in turn, each of them more than once before they see others:
/// as each block of queries sees all blocks of keys. None: steps that follow each other may see the same block.
/// nullopt: no block is seen again soon.
std::optional<std::vector<size_t>> findReuse(const IndexMapFacts&, const Window&, const BlockGeometry&,
                                             const std::vector<int64_t>& grid, const StepOrder&);

}  // namespace smalti::cpu
