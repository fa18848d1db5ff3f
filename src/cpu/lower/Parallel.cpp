#include "cpu/lower/Parallel.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cpu/lower/DistinctBlocks.h"
#include "cpu/lower/FirstUse.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu {
namespace {

using Why = std::optional<std::string>;

class Planner {
 public:
  explicit Planner(const KernelPackage& package)
      : package_(package), signature_(package.signature), kernel_(package.kernelFunction()) {}

  ParallelPlan plan() {
    int marked = 0;
    for (const DimensionSemantics s : signature_.dimensionSemantics) {
      if (s != DimensionSemantics::parallel && s != DimensionSemantics::core_parallel) break;
      ++marked;
    }
    marked = std::min(marked, static_cast<int>(signature_.grid.size()));
    // JAX marks no axis unless it is told to: the proof alone will do.
    const int most = marked > 0 ? marked : static_cast<int>(signature_.grid.size());
    if (most == 0) return {};
    always_ = useInOneRun(kernel_, single());
    ParallelPlan plan;
    if (Why why = body(); why) {
      plan.reason = std::move(*why);
      return plan;
    }
    for (plan.axes = most; plan.axes > 0; --plan.axes) {
      Why why = outputs(plan.axes);
      if (!why) why = scratch(plan.axes);
      if (!why) break;
      plan.reason = std::move(*why);
    }
    if (marked == 0 && plan.axes > 0) plan.reason.clear();
    return plan;
  }

 private:
  size_t inputs() const { return static_cast<size_t>(package_.numInputs()); }
  size_t firstInput() const { return signature_.grid.size() + static_cast<size_t>(signature_.numScalarPrefetch); }
  size_t firstScratch() const { return firstInput() + signature_.windows.size(); }
  mlir::func::FuncOp mapOf(const Window& window) const {
    return mlir::cast<mlir::func::FuncOp>(package_.module.get().lookupSymbol(window.transform));
  }

  /// Axes whose only index is 0.
  std::vector<bool> single() const {
    std::vector<bool> zero;
    for (const int64_t bound : signature_.grid) zero.push_back(bound == 1);
    return zero;
  }

  /// What holds for any number of axes.
  Why body() const {
    if (!always_.otherEffect.empty())
      return fmt::format("it runs {}, which other grid points may notice", always_.otherEffect);
    for (int i = 0; i < signature_.numScalarPrefetch; ++i)
      if (always_.arguments[signature_.grid.size() + static_cast<size_t>(i)].stored)
        return fmt::format("it writes scalar prefetch operand {}", i);
    for (size_t i = 0; i < inputs(); ++i)
      if (always_.arguments[firstInput() + i].stored) return fmt::format("it writes input {}", i);
    return aliases();
  }

  /// An input that is also an output: each point must read the very block that it writes.
  Why aliases() const {
    const auto first = static_cast<int>(package_.operands.size() - inputs());
    for (const Alias& alias : package_.aliases) {
      if (alias.operand < first) return fmt::format("output {} is a scalar operand, too", alias.output);
      const auto input = static_cast<size_t>(alias.operand - first);
      if (kernel_.getArgument(static_cast<unsigned>(firstInput() + input)).use_empty()) continue;
      const auto& from = signature_.windows[input];
      const auto& to = signature_.windows[inputs() + static_cast<size_t>(alias.output)];
      if (!from || !to || from->bounds != to->bounds || from->elementIndexed != to->elementIndexed ||
          from->padLow != to->padLow || from->padHigh != to->padHigh || !sameMap(mapOf(*from), mapOf(*to)))
        return fmt::format("input {} and output {} are one array with different windows", input, alias.output);
    }
    return std::nullopt;
  }

  Why outputs(int axes) const {
    for (size_t o = 0; inputs() + o < signature_.windows.size(); ++o) {
      const auto& window = signature_.windows[inputs() + o];
      if (!window) {
        if (always_.arguments[firstInput() + inputs() + o].stored)
          return fmt::format("output {} is whole at every grid point", o);
        continue;
      }
      const std::vector<bool> told = distinguishes(mapOf(*window), *window, signature_.grid);
      for (int a = 0; a < axes; ++a)
        if (!told[static_cast<size_t>(a)])
          return fmt::format("output {} may have one block at several points of grid axis {}", o, a);
    }
    return std::nullopt;
  }

  /// Every run, or the first one of those that a thread makes for a point of the shared axes, must write a buffer
  /// before it reads it.
  Why scratch(int axes) const {
    std::optional<BodyUse> first;
    for (int s = 0; s < signature_.numScratch; ++s) {
      const size_t argument = firstScratch() + static_cast<size_t>(s);
      if (!always_.arguments[argument].readFirst) continue;
      if (!first) {
        std::vector<bool> zero = single();
        std::fill(zero.begin() + axes, zero.end(), true);
        first = useInOneRun(kernel_, zero);
      }
      const BufferUse& use = first->arguments[argument];
      if (use.readFirst || !use.covered)
        return fmt::format("scratch {} may hold what an earlier point of grid axis {} has left in it", s, axes - 1);
    }
    return std::nullopt;
  }

  const KernelPackage& package_;
  const KernelSignature& signature_;
  mutable mlir::func::FuncOp kernel_;
  BodyUse always_;
};

}  // namespace

ParallelPlan planParallel(const KernelPackage& package) { return Planner(package).plan(); }

}  // namespace smalti::cpu
