#include "driver/time/Advice.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/time/Reblock.h"
#include "ir/KernelArguments.h"
#include "tpu/Legality.h"

namespace smalti::driver {
namespace {

constexpr double kWorthSaying = 0.97;
constexpr int kMaxAdviceRounds = 12;
/// Kernels with more steps than this are not searched: each candidate takes too long.
constexpr int64_t kMaxSteps = 2'000'000;

int64_t stepsOf(const KernelPackage& kernel) {
  const auto& grid = kernel.signature.grid;
  return std::accumulate(grid.begin(), grid.end(), int64_t{1}, std::multiplies<>());
}

std::string shapeText(const Shape& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

std::vector<Shape> blocksOf(const KernelPackage& kernel) {
  std::vector<Shape> out;
  for (const auto& w : kernel.signature.windows) out.push_back(w ? w->bounds : Shape{});
  return out;
}

class Search {
 public:
  Search(const tpu::Chip& chip, const sim::Question& question, double us) : chip_(chip), question_(question), us_(us) {}

  /// The time of a candidate that the chip's compiler accepts.
  std::optional<double> timeOf(const KernelPackage& kernel) const {
    if (!tpu::judge(kernel, chip_).accepted()) return std::nullopt;
    const auto time = sim::timeOf(kernel, chip_, question_);
    if (!time) return std::nullopt;
    return time->cycles / (chip_.device.clockGhz * 1e3);
  }

  void offer(Advice::Kind kind, std::string text, const std::optional<KernelPackage>& kernel) {
    if (!kernel) return;
    if (const auto us = timeOf(*kernel)) add(kind, std::move(text), *kernel, *us);
  }

  void add(Advice::Kind kind, std::string text, const KernelPackage& kernel, double us) {
    if (us < kWorthSaying * us_)
      found.push_back({kind, std::move(text), us / us_, us, kernel.signature.grid, blocksOf(kernel)});
  }

  /// The best blocks reached by greedy steps along one axis at a time.
  void blocks(const KernelPackage& kernel) {
    std::optional<KernelPackage> best;
    double least = us_;
    for (int round = 0; round < kMaxAdviceRounds; ++round) {
      const KernelPackage& from = best ? *best : kernel;
      std::optional<KernelPackage> better;
      for (size_t axis = 0; axis < from.signature.grid.size(); ++axis)
        for (const auto& [n, d] : {std::pair<int64_t, int64_t>{2, 1}, {3, 1}, {4, 1}, {5, 1}, {7, 1}, {1, 2}, {1, 4}}) {
          auto candidate = reblocked(from, axis, n, d);
          if (!candidate || stepsOf(*candidate) > kMaxSteps) continue;
          const auto us = timeOf(*candidate);
          // Larger blocks must save at least this percentage of cycles.
          if (!us || *us > 0.99 * least) continue;
          least = *us;
          better = std::move(candidate);
        }
      if (!better) break;
      best = std::move(better);
    }
    if (best) add(Advice::Kind::blocks, blocksText(kernel, *best), *best, least);
  }

  std::vector<Advice> found;

 private:
  static std::string blocksText(const KernelPackage& before, const KernelPackage& after) {
    const KernelArguments arguments(after);
    std::vector<std::string> parts;
    for (size_t w = 0; w < after.signature.windows.size(); ++w) {
      const auto &old = before.signature.windows[w], &now = after.signature.windows[w];
      if (!old || !now || old->bounds == now->bounds) continue;
      const bool isInput = w < arguments.numInputs();
      parts.push_back(fmt::format("{} for {} {}", shapeText(now->bounds), isInput ? "input" : "output",
                                  isInput ? w : w - arguments.numInputs()));
    }
    return fmt::format("blocks of {}; grid {} instead of {}", fmt::join(parts, ", "), shapeText(after.signature.grid),
                       shapeText(before.signature.grid));
  }

  const tpu::Chip& chip_;
  const sim::Question& question_;
  double us_;
};

}  // namespace

std::vector<Advice> adviceFor(const KernelPackage& kernel, const tpu::Chip& chip, const sim::Question& question,
                              double us) {
  const auto& grid = kernel.signature.grid;
  const bool isDynamic = std::find(grid.begin(), grid.end(), kDynamicBound) != grid.end();
  if (grid.empty() || isDynamic || stepsOf(kernel) > kMaxSteps) return {};
  Search search(chip, question, us);
  search.blocks(kernel);
  search.offer(Advice::Kind::buffers, "two buffers for each block, as is the default (no pipeline_mode)",
               withDoubleBuffers(kernel));
  for (size_t axis = 0; axis < grid.size(); ++axis)
    if (chip.device.coresPerDevice > 1 && grid[axis] > 1)
      search.offer(Advice::Kind::cores,
                   fmt::format("dimension_semantics parallel for grid axis {}, which two cores can share", axis),
                   withParallelAxis(kernel, axis));
  for (size_t a = 0; a < grid.size(); ++a)
    for (size_t b = a + 1; b < grid.size(); ++b) {
      if (grid[a] == 1 || grid[b] == 1) continue;
      std::vector<size_t> order(grid.size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::swap(order[a], order[b]);
      search.offer(Advice::Kind::order,
                   fmt::format("grid axes {} and {} in the other order, so that blocks stay", a, b),
                   reordered(kernel, order));
    }
  std::stable_sort(search.found.begin(), search.found.end(),
                   [](const Advice& a, const Advice& b) { return a.share < b.share; });
  return std::move(search.found);
}

}  // namespace smalti::driver
