// A module's kernel with blocks of other sizes, ranked by the model of time.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/KernelPackage.h"
#include "sim/Time.h"
#include "tpu/chip/Chip.h"

namespace smalti::driver {

struct BlockCandidate {
  std::vector<int64_t> grid;
  std::vector<Shape> blocks;  ///< by input, then output; empty: it has no window
  double us = 0;              ///< 0 when it was refused
  int64_t vmemBytes = 0;
  std::optional<Diagnostic> refusal;
  bool isCurrent = false;
};

struct BlockRanking {
  std::vector<BlockCandidate> candidates;  ///< the fastest first, refused ones last
  bool all = true;                         ///< there are no others that follow from these
};

/// Blocks that divide their arrays along grid axes, as far as the body follows them (driver/time/Reblock.h): starting
/// with the kernel's own, then from the fastest candidate with unexplored neighbours, until there are `most`.
BlockRanking rankBlocks(const KernelPackage&, const tpu::Chip&, const sim::Question&, size_t most,
                        const std::function<void(size_t done)>& progress);

}  // namespace smalti::driver
