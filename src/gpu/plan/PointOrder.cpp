#include "gpu/plan/PointOrder.h"

#include <algorithm>
#include <bit>
#include <cmath>

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

Changes changesAlong(const KernelPackage& package, size_t first, size_t second) {
  const KernelArguments arguments(package);
  Changes bytes;
  for (size_t i = 0; i < arguments.numInputs(); ++i) {
    const auto& window = arguments.windowOf(i);
    if (!window) continue;
    const IndexMapFacts map(arguments.indexMap(*window), arguments.gridRank());
    const int64_t block = num_elements(window->bounds) * storage_bytes(arguments.arrayOf(i).dtype);
    if (map.uses(first) && !map.uses(second)) bytes.first += block;
    if (map.uses(second) && !map.uses(first)) bytes.second += block;
  }
  return bytes;
}

}  // namespace

PointOrder planPoints(const KernelPackage& package, const cpu::GridPlan& grid, const RegisterPlan& products) {
  PointOrder order{.axes = grid.sharedOrder};
  // Axes of size 1 come last.
  std::ranges::stable_partition(order.axes, [&](size_t a) { return package.signature.grid[a] != 1; });
  if (products.products.empty() || order.axes.size() < 2) return order;
  const Changes bytes = changesAlong(package, order.axes[0], order.axes[1]);
  if (bytes.first <= 0 || bytes.second <= 0) return order;
  // For a given n m, n first + m second is smallest if both terms are equal.
  const double best = std::sqrt(kBlocksAtOnce * static_cast<double>(bytes.second) / static_cast<double>(bytes.first));
  order.group = static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::clamp(best, 1.0, static_cast<double>(kMaxGroup)))));
  return order;
}

}  // namespace smalti::gpu
