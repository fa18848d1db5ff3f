#include "cpu/analysis/Parallel.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cpu/analysis/ReadBeforeWrite.h"
#include "ir/KernelArguments.h"
#include "ir/Types.h"
#include "ir/facts/GridScalars.h"
#include "ir/facts/IndexMaps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace smalti::cpu {
namespace {

using Why = std::optional<std::string>;

class Planner {
 public:
  explicit Planner(const KernelPackage& package)
      : package_(package), signature_(package.signature), arguments_(package) {}

  ParallelPlan plan() {
    int marked = 0;
    for (const DimensionSemantics s : signature_.dimensionSemantics) {
      if (s != DimensionSemantics::parallel && s != DimensionSemantics::core_parallel) break;
      ++marked;
    }
    marked = std::min(marked, static_cast<int>(signature_.grid.size()));
    isMarked_ = marked > 0;
    // JAX marks no axis by default, so the proof alone suffices.
    const int most = marked > 0 ? marked : static_cast<int>(signature_.grid.size());
    if (most == 0) return {};
    always_ = accessesOfOneRun(arguments_.function(), single());
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
    plan.runs = runsOf(static_cast<size_t>(plan.axes));
    return plan;
  }

 private:
  static const BufferAccesses& useOf(const BodyAccesses& use, mlir::BlockArgument ref) {
    return use.arguments[ref.getArgNumber()];
  }

  /// Axes whose only index is 0.
  std::vector<bool> single() const {
    std::vector<bool> zero;
    for (const int64_t bound : signature_.grid) zero.push_back(bound == 1);
    return zero;
  }

  /// Requirements that do not depend on the number of axes.
  Why body() const {
    if (!always_.otherEffect.empty())
      return fmt::format("it runs {}, which other grid points may observe", always_.otherEffect);
    for (size_t i = 0; i < arguments_.numScalarPrefetch(); ++i)
      if (useOf(always_, arguments_.scalarPrefetch(i)).stored)
        return fmt::format("it writes scalar prefetch operand {}", i);
    for (size_t i = 0; i < arguments_.numInputs(); ++i)
      if (const BufferAccesses& use = useOf(always_, arguments_.input(i)); use.stored || use.updatedAtomically)
        return fmt::format("it writes input {}", i);
    return aliases();
  }

  /// For an input aliased to an output, each point must read exactly the block that it writes.
  Why aliases() const {
    for (const Alias& alias : package_.aliases) {
      const auto output = static_cast<size_t>(alias.output);
      const auto input = arguments_.aliasedInput(output);
      if (!input) return fmt::format("output {} is also a scalar operand", output);
      if (arguments_.input(*input).use_empty()) continue;
      const auto &from = arguments_.windowOf(*input), &to = arguments_.windowOf(arguments_.numInputs() + output);
      if (!from || !to || from->bounds != to->bounds || from->elementIndexed != to->elementIndexed ||
          from->padLow != to->padLow || from->padHigh != to->padHigh ||
          !sameIndexMap(arguments_.indexMap(*from), arguments_.indexMap(*to)))
        return fmt::format("input {} and output {} are aliased but have different windows", *input, output);
    }
    return std::nullopt;
  }

  Why outputs(int axes) const {
    for (size_t o = 0; o < arguments_.numOutputs(); ++o) {
      const auto& window = arguments_.windowOf(arguments_.numInputs() + o);
      if (!window) {
        const BufferAccesses& use = useOf(always_, arguments_.output(o));
        if (use.stored) return fmt::format("output {} is the whole array at every grid point", o);
        // The order of updates may be visible in their results.
        if (use.updatedAtomically && !isMarked_)
          return fmt::format("it updates output {} atomically, and no grid axis is marked as parallel", o);
        continue;
      }
      const IndexMapFacts map(arguments_.indexMap(*window), arguments_.gridRank());
      const std::vector<bool> injective = injectiveAxes(map, *window, signature_.grid);
      for (int a = 0; a < axes; ++a)
        if (!injective[static_cast<size_t>(a)])
          return fmt::format("output {} may have the same block at several points of grid axis {}", o, a);
    }
    return std::nullopt;
  }

  /// Each buffer must be written before it is read in every run of the body, or in the first run that a thread
  /// executes for a point of the shared axes.
  Why scratch(int axes) const {
    std::optional<BodyAccesses> first;
    for (size_t s = 0; s < arguments_.numScratch(); ++s) {
      if (!useOf(always_, arguments_.scratch(s)).readFirst) continue;
      if (!first) {
        std::vector<bool> zero = single();
        std::fill(zero.begin() + axes, zero.end(), true);
        first = accessesOfOneRun(arguments_.function(), zero);
      }
      const BufferAccesses& use = useOf(*first, arguments_.scratch(s));
      if (use.readFirst || !use.covered)
        return fmt::format("scratch {} may hold what an earlier point of grid axis {} has left in it", s, axes - 1);
    }
    return std::nullopt;
  }

  std::optional<BlockRuns> runsOf(size_t axis) const {
    if (axis >= signature_.grid.size() || signature_.grid[axis] == 1 || arguments_.numOutputs() == 0) return {};
    BlockRuns runs{.coordinates = {}, .isProved = true};
    for (size_t o = 0; o < arguments_.numOutputs(); ++o) {
      const auto& window = arguments_.windowOf(arguments_.numInputs() + o);
      if (!window || window->elementIndexed) return {};
      const IndexMapFacts map(arguments_.indexMap(*window), arguments_.gridRank());
      const auto found = std::ranges::find_if(map.coordinates(), [&](const BlockCoordinate& c) {
        return c.axes[axis] && std::ranges::count(c.axes, true) == 1;
      });
      if (found == map.coordinates().end()) return {};
      const bool ascends = found->form && found->form->factors[axis] >= 0 && found->form->rangeOn(signature_.grid);
      runs.isProved = runs.isProved && ascends;
      runs.coordinates.push_back(static_cast<size_t>(found - map.coordinates().begin()));
      if (!isComputable(arguments_.indexMap(*window).getBody().front().getTerminator()->getOperand(
              static_cast<unsigned>(runs.coordinates.back()))))
        return {};
    }
    if (scratch(static_cast<int>(axis) + 1)) return {};
    return runs;
  }

  /// Whether code can compute the result of an index map at any step.
  static bool isComputable(mlir::Value result) {
    return isArithmeticOn(
        result, [](mlir::BlockArgument) { return true; },
        [](mlir::Operation& op) {
          if (!llvm::isa<mlir::memref::LoadOp>(op)) return true;
          const mlir::Value from = op.getOperand(0);  // scalar prefetch, or a view of it, which code does not follow
          return llvm::isa<mlir::BlockArgument>(from) && !llvm::is_contained(shapeOf(from.getType()), 0);
        });
  }

  const KernelPackage& package_;
  const KernelSignature& signature_;
  const KernelArguments arguments_;
  BodyAccesses always_;
  bool isMarked_ = false;  ///< an axis, by its author
};

}  // namespace

ParallelPlan planParallel(const KernelPackage& package) { return Planner(package).plan(); }

}  // namespace smalti::cpu
