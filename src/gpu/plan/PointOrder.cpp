#include "gpu/plan/PointOrder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "ir/KernelArguments.h"
#include "ir/Types.h"
#include "ir/facts/GridScalars.h"
#include "ir/facts/IndexMaps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

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

/// How many products some of the steps of a point compute; absent: that is not known at compile time. `indices`: of
/// all grid axes, of which those of the point are set.
std::optional<int64_t> productsOf(const KernelPackage& package, const cpu::GridPlan& grid, const StreamPlan& stream,
                                  std::vector<int64_t> indices) {
  constexpr int64_t kSteps = 8;  // evenly distributed among the steps of the point
  constexpr int64_t kMostSteps = int64_t{1} << 40;
  mlir::func::FuncOp kernel(package.kernelFunction());
  const std::vector<int64_t>& bounds = package.signature.grid;
  int64_t steps = 1, products = 0;
  for (size_t a = static_cast<size_t>(grid.sharedAxes); a < bounds.size(); ++a) {
    if (bounds[a] > kMostSteps / steps) return std::nullopt;
    steps *= bounds[a];
  }
  for (int64_t sample = 0; sample < kSteps; ++sample) {
    int64_t step = (2 * sample + 1) * steps / (2 * kSteps);
    for (size_t a = bounds.size(); a-- > static_cast<size_t>(grid.sharedAxes);) {
      indices[a] = step % bounds[a];
      step /= bounds[a];
    }
    llvm::DenseMap<mlir::Value, int64_t> known;
    for (unsigned a = 0; a < indices.size(); ++a) known[kernel.getArgument(a)] = indices[a];
    for (const StreamedProduct& p : stream.products) {
      const auto computed = p.condition ? valueOf(p.condition, known) : 1;
      if (!computed) return std::nullopt;
      products += *computed != 0;
    }
  }
  return products;
}

/// The axis along which points have the most different numbers of products, and whether the numbers increase.
struct UnevenAxis {
  size_t axis = 0;
  bool increases = false;
};
std::optional<UnevenAxis> unevenAxis(const KernelPackage& package, const cpu::GridPlan& grid,
                                     const StreamPlan& stream) {
  const std::vector<int64_t>& bounds = package.signature.grid;
  const bool isConditional =
      std::ranges::any_of(stream.products, [](const StreamedProduct& p) { return p.condition != nullptr; });
  // The sizes of dynamic axes are negative.
  if (!isConditional || std::ranges::any_of(bounds, [](int64_t n) { return n < 1; })) return std::nullopt;
  std::vector<int64_t> first(bounds.size(), 0);
  const auto atFirst = productsOf(package, grid, stream, first);
  std::optional<UnevenAxis> found;
  int64_t most = 0;
  for (size_t a = 0; atFirst && a < static_cast<size_t>(grid.sharedAxes); ++a) {
    std::vector<int64_t> last = first;
    last[a] = bounds[a] - 1;
    const auto atLast = productsOf(package, grid, stream, last);
    if (!atLast || std::abs(*atLast - *atFirst) <= most) continue;
    most = std::abs(*atLast - *atFirst);
    found = {a, *atLast > *atFirst};
  }
  return found;
}

}  // namespace

PointOrder planPoints(const KernelPackage& package, const cpu::GridPlan& grid, bool hasRuns,
                      const RegisterPlan& products, const StreamPlan& stream) {
  PointOrder order{.axes = grid.sharedOrder};
  std::optional<size_t> runs;
  if (hasRuns) order.axes.push_back(*(runs = static_cast<size_t>(grid.sharedAxes)));
  // Axes of size 1 come last.
  std::ranges::stable_partition(order.axes, [&](size_t a) { return package.signature.grid[a] != 1; });
  if (const auto uneven = hasRuns ? std::nullopt : unevenAxis(package, grid, stream)) {
    std::ranges::stable_partition(order.axes, [&](size_t a) { return a != uneven->axis; });
    order.largestFirst = uneven->increases;
    return order;
  }
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
