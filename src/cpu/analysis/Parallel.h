// Which grid axes threads may share: `parallel` is only a request by the author; this file proves that it is safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// The steps of an axis in runs: consecutive steps that may write the same blocks. A run ends before a step at which
/// one coordinate of each output's block is greater than at the step before. If these coordinates never decrease along
/// the axis, steps of different runs write different blocks of every output, and runs may be computed in any order; the
/// steps of a run, and the axes inside, in order. Grouped products are of this form: several steps add to the rows of
/// one block, whose number is looked up in scalar prefetch.
struct BlockRuns {
  std::vector<size_t> coordinates;  ///< by output: the coordinate, which depends on this axis and on no other
  /// It is proved that the coordinates never decrease. Otherwise each call has to check it, and if one does, the axis
  /// is computed in order.
  bool isProved = false;

  bool operator==(const BlockRuns&) const = default;
};

struct ParallelPlan {
  /// The first `axes` grid axes are shared: every point of them may run on any thread, at any time; the axes inside run
  /// in order on that thread, with its own copy of every scratch buffer and of every window that is not a view.
  /// 0: the whole grid runs in order.
  int axes = 0;
  /// Why no more leading axes are shared: a sentence without a full stop. Empty if all marked axes are shared or, where
  /// none is marked `parallel`, at least one axis.
  std::string reason;
  /// Runs of the axis after the shared ones; absent: it runs in order.
  std::optional<BlockRuns> runs;

  bool operator==(const ParallelPlan&) const = default;
};

/// Shares as many as possible of the leading axes that are marked `parallel`, or of all leading axes if none is marked.
/// Sharing an axis changes no result that does not depend on undefined memory: its points write different blocks of
/// every output, and read only what they have written themselves or what is never written. Points of marked axes may
/// also update the same elements atomically; the results are those of one of the possible orders.
ParallelPlan planParallel(const KernelPackage&);

}  // namespace smalti::cpu
