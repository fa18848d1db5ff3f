#include "gpu/plan/FitProducts.h"

#include <algorithm>
#include <set>

#include "cpu/analysis/AxisDims.h"
#include "cpu/rewrite/grid/SplitAxis.h"
#include "gpu/plan/RegisterPlan.h"
#include "ir/facts/DotDimensions.h"

namespace smalti::gpu {
namespace {

bool areInRegisters(const RegisterPlan& plan) {
  return llvm::all_of(plan.products, [](const auto& each) { return each.second.result != ProductResult::memory; });
}

/// The axes along which the products whose results are in memory have rows and columns.
struct Axes {
  std::set<int> rows, columns;
};
Axes axesOf(const RegisterPlan& plan, const cpu::AxisDims& dims) {
  Axes found;
  const auto add = [&](std::set<int>& axes, mlir::Value operand, std::span<const int64_t> free) {
    for (const int64_t d : free)
      if (const int axis = dims.axisOf(operand, static_cast<size_t>(d)); axis >= 0) axes.insert(axis);
  };
  for (const auto& [op, p] : plan.products) {
    if (p.result != ProductResult::memory) continue;
    const DotDimensions lists = dotDimensionsOf(*op);
    add(found.rows, op->getOperand(0), lists.lhsFree);
    add(found.columns, op->getOperand(1), lists.rhsFree);
  }
  return found;
}

/// The size of the block along the axis, and of its parts of at most 256 elements.
std::vector<int64_t> sizesOf(const cpu::AxisDims& dims, std::optional<int> axis) {
  if (!axis) return {0};
  std::vector<int64_t> sizes;
  for (const int64_t size : {dims.block(*axis), int64_t{256}, int64_t{128}, int64_t{64}})
    if (dims.block(*axis) % size == 0 && (sizes.empty() || size < sizes.back())) sizes.push_back(size);
  return sizes;
}

}  // namespace

std::optional<KernelPackage> fitProducts(const KernelPackage& package, const Architecture& architecture,
                                         const GpuParams& params) {
  const RegisterPlan plan = planRegisters(package, architecture, params);
  if (areInRegisters(plan)) return std::nullopt;
  const auto dims = cpu::AxisDims::ofParts(package);
  if (!dims) return std::nullopt;
  const Axes axes = axesOf(plan, *dims);
  const auto only = [&](const std::set<int>& of) {
    return of.size() == 1 && cpu::canSplitAxis(package, *dims, *of.begin()) ? std::optional(*of.begin()) : std::nullopt;
  };
  const auto rows = only(axes.rows), columns = only(axes.columns);
  if (rows == columns) return std::nullopt;  // neither, or the same
  struct Choice {
    int64_t rows, columns;
  };
  std::vector<Choice> choices;
  for (const int64_t m : sizesOf(*dims, rows))
    for (const int64_t n : sizesOf(*dims, columns)) choices.push_back({m, n});
  // The larger a part, the more products per element that is copied; of two of the same size, the squarer one.
  std::ranges::stable_sort(choices, std::greater{}, [](const Choice& c) {
    return std::pair{std::max<int64_t>(c.rows, 1) * std::max<int64_t>(c.columns, 1), -std::max(c.rows, c.columns)};
  });
  for (const Choice& c : choices) {
    std::optional<KernelPackage> made;
    if (rows && c.rows != dims->block(*rows)) made = cpu::splitAxis(package, *rows, c.rows);
    if (columns && c.columns != dims->block(*columns))
      made = cpu::splitAxis(made ? *made : package, *columns, c.columns);
    if (made && areInRegisters(planRegisters(*made, architecture, params))) return made;
  }
  // Values that go through memory, such as scores of 512 keys, then at least fit into the L2 cache for all blocks of
  // threads. Chosen, not measured.
  constexpr int64_t kRows = 128;
  if (rows && dims->block(*rows) > kRows && dims->block(*rows) % kRows == 0)
    return cpu::splitAxis(package, *rows, kRows);
  return std::nullopt;
}

}  // namespace smalti::gpu
