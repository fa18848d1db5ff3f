// Which blocks grid steps use again soon, against the blocks of all steps in their order.
#include "../../LongTest.h"
#include "cpu/analysis/BlockReuse.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "../../machine/runtime/TextKernel.h"
#include "ir/KernelArguments.h"
#include "llvm/ADT/STLExtras.h"

namespace smalti::cpu {
namespace {

using machine::testing::TextKernel;
using machine::testing::Val;

constexpr size_t kAxes = 3, kDims = 2;
constexpr int64_t kSize = 4;

/// A grid, and an input whose block coordinates, or those of a window's first element, are grid indices, or 0.
struct RandomGrid {
  std::vector<int64_t> bounds;
  std::vector<size_t> order;                        ///< axes, fastest first
  std::array<std::optional<size_t>, kDims> axes{};  ///< of the coordinates; nullopt: 0
  Shape array;
  bool elementIndexed = *rc::gen::inRange(0, 3) == 0;

  RandomGrid() : order(kAxes) {
    for (size_t a = 0; a < kAxes; ++a) bounds.push_back(*rc::gen::inRange<int64_t>(1, 4));
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t a = kAxes; a-- > 1;) std::swap(order[a], order[*rc::gen::inRange<size_t>(0, a + 1)]);
    for (size_t d = 0; d < kDims; ++d) {
      if (const size_t axis = *rc::gen::inRange<size_t>(0, kAxes + 1); axis < kAxes) axes[d] = axis;
      int64_t places = axes[d] ? bounds[*axes[d]] : 1;
      places += *rc::gen::inRange(0, 3) == 0;  // the last one is not used
      array.push_back(elementIndexed ? kSize + places - 1 : kSize * places);
    }
  }

  TextKernel kernel() const {
    const auto coordinate = [&](size_t d) { return axes[d] ? std::string("%") + "ijk"[*axes[d]] : std::string("%c0"); };
    TextKernel k(bounds, "arbitrary");
    const Val x = k.input({.array = array,
                           .block = {kSize, kSize},
                           .map = coordinate(0) + ", " + coordinate(1),
                           .attributes = elementIndexed ? "window_kind = #tpu.element_window<[0, 0], [0, 0]>" : ""}),
              o = k.output({.array = {kSize, kSize}, .block = {kSize, kSize}, .map = "%c0, %c0"});
    k.store(k.load(x), o);
    return k;
  }

  /// The blocks of all steps, in their order.
  std::vector<Shape> steps() const {
    std::vector<Shape> all;
    std::vector<int64_t> at(kAxes, 0);
    for (;;) {
      Shape block;
      for (size_t d = 0; d < kDims; ++d) block.push_back(axes[d] ? at[*axes[d]] : 0);
      all.push_back(block);
      size_t n = 0;
      for (; n < kAxes && ++at[order[n]] == bounds[order[n]]; ++n) at[order[n]] = 0;
      if (n == kAxes) return all;
    }
  }
};

/// Whether a run of steps, in which coordinates other than those of `dims` keep their values, uses a block twice.
bool repeatsInARun(const std::vector<Shape>& steps, const std::vector<size_t>& dims) {
  std::set<Shape> seen;
  Shape outside;
  for (const Shape& block : steps) {
    Shape others;
    for (size_t d = 0; d < kDims; ++d)
      if (!llvm::is_contained(dims, d)) others.push_back(block[d]);
    if (others != outside) seen.clear();
    outside = others;
    if (!seen.insert(block).second) return true;
  }
  return false;
}

TEST(BlockReuse, BlocksThatAreReusedSoonAreFound) {
  SMALTI_LONG_TEST();
  int sameBlock = 0, cycles = 0, none = 0;
  const auto check = [&] {
    const RandomGrid grid;
    const KernelPackage package = grid.kernel().package();
    const KernelArguments arguments(package);
    const Window& window = *arguments.windowOf(0);
    RC_ASSERT(window.elementIndexed == grid.elementIndexed);
    const IndexMapFacts map(arguments.indexMap(window), kAxes);
    const BlockGeometry geometry(window, arguments.arrayOf(0).shape);
    const auto found = findReuse(map, window, geometry, grid.bounds, {grid.order.front(), grid.order});
    const std::vector<Shape> steps = grid.steps();
    ++(!found ? none : found->empty() ? sameBlock : cycles);
    if (!found) return;
    if (found->empty()) {  // consecutive steps along the fastest axis use the same block
      for (size_t i = 1; i < steps.size(); ++i)
        if (i % static_cast<size_t>(grid.bounds[grid.order.front()]) != 0) RC_ASSERT(steps[i] == steps[i - 1]);
      return;
    }
    for (const size_t d : *found) RC_ASSERT(grid.axes[d] == grid.order.front());
    RC_ASSERT(repeatsInARun(steps, *found));
  };
  // Cycles are rare: one in a few dozen grids.
  for (int n = 0; n < 5 || (cycles <= 5 && n < 50); ++n) EXPECT_TRUE(rc::check(check));
  EXPECT_GT(sameBlock, 10);
  EXPECT_GT(cycles, 5);
  EXPECT_GT(none, 10);
}

}  // namespace
}  // namespace smalti::cpu
