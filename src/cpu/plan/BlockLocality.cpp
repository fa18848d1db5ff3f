#include "cpu/plan/BlockLocality.h"

#include "cpu/analysis/BlockReuse.h"
#include "cpu/analysis/DramResident.h"
#include "cpu/plan/product/ProductPlan.h"
#include "ir/BlockGeometry.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"
#include "ir/facts/IndexMaps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu {
namespace {

/// Bytes of a block up to which its address is computed a step early: a larger one leaves enough time to compute the
/// next. Chosen, not measured.
constexpr int64_t kMaxPrefetchedBlockBytes = 64 << 10;

bool hasSkinnyProduct(const KernelArguments& arguments) {
  bool found = false;
  arguments.function().walk([&](tpu::MatmulOp product) {
    const Shape out = shapeOf(product.getType());
    found |= !out.empty() && num_elements(out) <= kSkinnyRows * out.back();
  });
  return found;
}

}  // namespace

std::vector<BlockLocality> planLocality(const KernelPackage& package, const GridPlan& grid, const Processor& processor,
                                        bool streams) {
  const KernelArguments arguments(package);
  const size_t rank = package.signature.grid.size(), inputs = arguments.numInputs();
  const auto nonTemporal = streams ? usesNonTemporalStores(package, processor) : std::vector<bool>();
  const bool isSkinny = hasSkinnyProduct(arguments);
  const bool moves = rank > 0 && package.signature.grid[grid.fastestAxis] != 1;  // else no step is next
  std::vector<BlockLocality> all(grid.blocks.size());
  for (size_t i = 0; i < all.size(); ++i) {
    if (!arguments.windowOf(i)) continue;
    const Window& window = *arguments.windowOf(i);
    const ArrayType& array = arguments.arrayOf(i);
    const BlockPlan& block = grid.blocks[i];
    BlockLocality& b = all[i];
    if (block.isOutput) {
      b.isNonTemporal = !block.isPartial && !nonTemporal.empty() && nonTemporal[i - inputs];
      continue;
    }
    b.isInDram = isInDram(array.bytes(), processor);
    if (block.access == BlockAccess::copied) continue;
    const IndexMapFacts map(arguments.indexMap(window), rank);
    b.reuse = findReuse(map, window, BlockGeometry(window, array.shape), package.signature.grid,
                        {grid.fastestAxis, grid.axesInOrder(rank)});
    // Small looked-up blocks of skinny products, whose time is dominated by fetching them.
    const int64_t bytes = num_elements(window.bounds) * storage_bytes(elementDType(arguments.block(i).getType()));
    b.prefetchesNext =
        isSkinny && moves && !window.elementIndexed && map.readsMemory() && bytes <= kMaxPrefetchedBlockBytes;
  }
  return all;
}

}  // namespace smalti::cpu
