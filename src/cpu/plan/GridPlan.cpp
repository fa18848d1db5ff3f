#include "cpu/plan/GridPlan.h"

#include <algorithm>

#include <fmt/format.h>

#include "cpu/analysis/MustWrite.h"
#include "ir/BlockGeometry.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"
#include "ir/facts/IndexMaps.h"
#include "ir/facts/OpFamilies.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu {
namespace {

using tpu::MemorySpace;

/// Memory that is private to the core.
bool isLocal(MemorySpace space) {
  return space == MemorySpace::vmem || space == MemorySpace::smem || space == MemorySpace::semaphore_mem;
}
bool isInHbm(MemorySpace space) { return space == MemorySpace::any || space == MemorySpace::hbm; }

class GridPlanner {
 public:
  GridPlanner(const KernelPackage& package, const GridOptions& options)
      : package_(package), arguments_(package), options_(options) {
    plan_.sharedAxes = options.sharedAxes;
  }

  tl::expected<GridPlan, Unsupported> run() {
    if (rank() > 0) chooseOrder();
    plan_.written = mustWrite(package_);
    for (const Alias& a : package_.aliases)
      if (!arguments_.aliasedInput(static_cast<size_t>(a.output)))
        return unsupported(fmt::format("output {} is also a scalar operand", a.output));
    for (size_t i = 0; i < arguments_.numBlocks(); ++i) {
      auto block = planBlock(i);
      if (!block) return tl::unexpected(std::move(block.error()));
      plan_.blocks.push_back(std::move(*block));
    }
    return std::move(plan_);
  }

 private:
  const std::vector<int64_t>& grid() const { return package_.signature.grid; }
  size_t rank() const { return grid().size(); }
  IndexMapFacts mapOf(const Window& window) const { return {arguments_.indexMap(window), rank()}; }

  // ---- the order of steps

  /// Points of shared axes may run in any order: with products, choose the one that changes the fewest bytes of blocks.
  void chooseOrder() {
    std::vector<size_t>& order = plan_.sharedOrder;
    size_t& fastest = plan_.fastestAxis;
    for (int a = plan_.sharedAxes; a-- > 0;) order.push_back(static_cast<size_t>(a));
    const auto many = [&](size_t a) { return grid()[a] != 1; };
    for (fastest = rank() - 1; fastest > 0 && !many(fastest);) --fastest;
    bool products = false;
    arguments_.function().walk([&](tpu::MatmulOp) { products = true; });
    if (!products || fastest >= order.size()) return;
    const auto changed = [&](size_t axis) {
      int64_t bytes = 0;
      for (size_t i = 0; i < arguments_.numInputs(); ++i)
        if (const auto& window = arguments_.windowOf(i); window && mapOf(*window).uses(axis))
          bytes += num_elements(window->bounds) * storage_bytes(arguments_.arrayOf(i).dtype);
      return bytes;
    };
    for (const size_t a : order)
      if (many(a) && changed(a) < changed(fastest)) fastest = a;
    order.erase(std::find(order.begin(), order.end(), fastest));
    order.insert(order.begin(), fastest);
  }

  // ---- inputs and outputs

  /// The block that is aliased with block `i`, if any.
  std::optional<size_t> partnerOf(size_t i) const {
    const size_t inputs = arguments_.numInputs();
    if (i >= inputs) return arguments_.aliasedInput(i - inputs);
    const auto output = arguments_.aliasedOutput(i);
    return output ? std::optional(inputs + *output) : std::nullopt;
  }

  tl::expected<BlockPlan, Unsupported> planBlock(size_t i) {
    const bool isOutput = i >= arguments_.numInputs();
    const auto space = tpu::memorySpaceOf(llvm::cast<mlir::MemRefType>(arguments_.block(i).getType()));
    if (!space) return unsupported("an operand in unknown memory");
    // An input that the kernel never reads is only the initial value of the output.
    std::optional<size_t> partner = partnerOf(i);
    if (partner && arguments_.input(isOutput ? *partner : i).use_empty()) partner.reset();
    return arguments_.windowOf(i) ? planWindow(i, *space, partner) : planWhole(i, *space, partner);
  }

  tl::expected<BlockPlan, Unsupported> planWhole(size_t i, MemorySpace space, std::optional<size_t> partner) const {
    BlockPlan b{.isOutput = i >= arguments_.numInputs(), .isPadded = isInHbm(space)};
    if (!isLocal(space) && !isInHbm(space) && space != MemorySpace::host)
      return unsupported(fmt::format("operand {} is in {} memory", i, tpu::stringifyMemorySpace(space).upper()));
    if (!partner) return b;
    if (isLocal(space) && space != MemorySpace::semaphore_mem) {
      // In the core's memory the output is a copy of the input; the caller's array is the output's. Semaphores of a
      // program stay in place.
      if (plan_.sharedAxes > 0) return unsupported("an aliased whole operand shared by threads");
      if (!b.isOutput) b.access = BlockAccess::privateCopy;
      return b;
    }
    // Both name the same array, and the kernel may write through either.
    if (arguments_.windowOf(*partner))
      return unsupported("an aliased input and output, only one of them with a window");
    if (b.isOutput) b.sameMemory = partner;
    return b;
  }

  tl::expected<BlockPlan, Unsupported> planWindow(size_t i, MemorySpace space, std::optional<size_t> partner) const {
    const Window& window = *arguments_.windowOf(i);
    const ArrayType& array = arguments_.arrayOf(i);
    const size_t inputs = arguments_.numInputs();
    BlockPlan b{.isOutput = i >= inputs};
    if (space != MemorySpace::vmem && space != MemorySpace::smem) return unsupported("a window outside VMEM and SMEM");
    if (window.revisitMode == RevisitMode::any && b.isOutput) return unsupported("RevisitMode.ANY");
    if (partner) {
      const auto& other = arguments_.windowOf(*partner);
      if (!other || other->bounds != window.bounds ||
          !sameIndexMap(arguments_.indexMap(*other), arguments_.indexMap(window)))
        return unsupported("an aliased input and output with different windows");
    }
    const IndexMapFacts map = mapOf(window);
    const BlockGeometry geometry(window, array.shape);
    // Where blocks are checked and the array is whole blocks, a step whose block is not inside ends the run.
    for (size_t d = 0; d < window.bounds.size(); ++d)
      b.isPartial |= geometry.hasPartialBlock(d) || (!(options_.checkBlocks && !window.elementIndexed) &&
                                                     !map.staysIn(d, geometry.numWholeBlocks(d), grid()));
    // What the kernel writes to an input's block is visible as long as the block stays the same, and only to this
    // kernel.
    const bool copied = !b.isOutput && (partner || mayBeWritten(arguments_.block(i)));
    b.access = copied ? BlockAccess::copied : b.isPartial ? BlockAccess::edgeBuffer : BlockAccess::view;
    if (options_.checkBlocks) b.maybeOutside = dimensionsToLeave(window, array.shape, map, geometry);
    // Unwritten elements of a partial block keep the array's contents, not those of the previous block.
    b.tracksBlock = copied || (b.isOutput && b.isPartial && !plan_.written[i - inputs]);
    return b;
  }

  /// Dimensions in which the index map is not proved to stay in the array, as BlockGeometry::outside has it.
  std::vector<size_t> dimensionsToLeave(const Window& window, const Shape& array, const IndexMapFacts& map,
                                        const BlockGeometry& geometry) const {
    const auto paddingOf = [](const std::vector<int64_t>& padding, size_t d) {
      return d < padding.size() ? padding[d] : 0;
    };
    std::vector<size_t> dimensions;
    for (size_t d = 0; d < array.size(); ++d) {
      const int64_t places = window.elementIndexed
                                 ? array[d] + paddingOf(window.padLow, d) + paddingOf(window.padHigh, d)
                                 : geometry.numBlocks(d);
      if (window.bounds[d] > 0 && array[d] > 0 && !map.staysIn(d, places, grid())) dimensions.push_back(d);
    }
    return dimensions;
  }

  const KernelPackage& package_;
  const KernelArguments arguments_;
  const GridOptions& options_;
  GridPlan plan_;
};

}  // namespace

std::string_view name(BlockAccess access) {
  switch (access) {
    case BlockAccess::whole:
      return "whole";
    case BlockAccess::privateCopy:
      return "private copy";
    case BlockAccess::view:
      return "view";
    case BlockAccess::edgeBuffer:
      return "view or edge buffer";
    case BlockAccess::copied:
      return "copied";
  }
  return {};
}

std::vector<size_t> GridPlan::axesInOrder(size_t rank) const {
  std::vector<size_t> axes;
  for (size_t a = rank; a-- > static_cast<size_t>(sharedAxes);) axes.push_back(a);
  axes.insert(axes.end(), sharedOrder.begin(), sharedOrder.end());
  return axes;
}

tl::expected<GridPlan, Unsupported> planGrid(const KernelPackage& package, const GridOptions& options) {
  return GridPlanner(package, options).run();
}

}  // namespace smalti::cpu
