// The order in which blocks of threads take the points of the shared grid axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/plan/GridPlan.h"
#include "gpu/plan/RegisterPlan.h"
#include "gpu/plan/StreamPlan.h"
#include "ir/KernelPackage.h"

namespace smalti::gpu {

/// Points with consecutive numbers run at the same time. In a group, they form a rectangle of two axes, which needs
/// fewer different blocks of inputs than a line, so that most of them come from the L2 cache:
///
///   axis 0 →                 group = 2
///   axis 1   0  1 |  6  7
///      ↓     2  3 |  8  9
///            4  5 | 10 11
struct PointOrder {
  std::vector<size_t> axes{};  ///< grid axes, the fastest first
  /// At most this many indices of axes[0] are combined with all of axes[1] before the next group; 0: no groups.
  int64_t group = 0;
  /// The indices of the last of `axes` decrease, so that points with many products come first.
  bool largestFirst = false;
};

/// If points have different numbers of products (causal attention), points with equally many run at the same time, and
/// those with most come first, so that all blocks of threads end at about the same time.
/// Only kernels with products have groups, since they use blocks of inputs again along one of the axes. `hasRuns`: the
/// axis after the shared ones is divided as well (LaunchPlan::runs).
PointOrder planPoints(const KernelPackage&, const cpu::GridPlan&, bool hasRuns, const RegisterPlan&, const StreamPlan&);

}  // namespace smalti::gpu
