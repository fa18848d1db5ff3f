#include "gpu/plan/PointOrder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "ir/KernelArguments.h"
#include "ir/Types.h"
#include "ir/facts/IndexMaps.h"

namespace smalti::gpu {
namespace {

/// The approximate number of multiprocessors of a large GPU: 108 (A100) to 132 (H100).
constexpr double kBlocksAtOnce = 128;
/// Indices of a group. Chosen, not measured.
constexpr int64_t kMaxGroup = 64;

/// Bytes of the input blocks that change along only one of two axes. For n × m points, n times `first` and m times
/// `second` have to be read.
struct Changes {
  int64_t first = 0, second = 0;
};

/// `runs`: the axis that is divided into runs, if any. A block that `first` changes as well, and `runs` only as what it
/// looks up in scalar prefetch, remains the same in most steps of `runs`, like the weights of a group.
Changes changesAlong(const KernelPackage& package, size_t first, size_t second, std::optional<size_t> runs) {
  const KernelArguments arguments(package);
  Changes bytes;
  for (size_t i = 0; i < arguments.numInputs(); ++i) {
    const auto& window = arguments.windowOf(i);
    if (!window) continue;
    const IndexMapFacts map(arguments.indexMap(*window), arguments.gridRank());
    const int64_t block = num_elements(window->bounds) * storage_bytes(arguments.arrayOf(i).dtype);
    const bool both = map.uses(first) && map.uses(second);
    const auto changesSeldom = [&](size_t axis) { return both && runs == axis && map.onlyLooksUp(axis); };
    const bool alongFirst = map.uses(first) && !changesSeldom(first);
    const bool alongSecond = map.uses(second) && !changesSeldom(second);
    if (alongFirst && !alongSecond) bytes.first += block;
    if (alongSecond && !alongFirst) bytes.second += block;
  }
  return bytes;
}

}  // namespace

PointOrder planPoints(const KernelPackage& package, const cpu::GridPlan& grid, bool hasRuns,
                      const RegisterPlan& products) {
  PointOrder order{.axes = grid.sharedOrder};
  std::optional<size_t> runs;
  if (hasRuns) order.axes.push_back(*(runs = static_cast<size_t>(grid.sharedAxes)));
  // Axes of size 1 come last.
  std::ranges::stable_partition(order.axes, [&](size_t a) { return package.signature.grid[a] != 1; });
  if (products.products.empty() || order.axes.size() < 2) return order;
  const Changes bytes = changesAlong(package, order.axes[0], order.axes[1], runs);
  if (bytes.first <= 0 || bytes.second <= 0) return order;
  // For a given n m, n first + m second is smallest if both terms are equal.
  const double best = std::sqrt(kBlocksAtOnce * static_cast<double>(bytes.second) / static_cast<double>(bytes.first));
  order.group = static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::clamp(best, 1.0, static_cast<double>(kMaxGroup)))));
  return order;
}

}  // namespace smalti::gpu
