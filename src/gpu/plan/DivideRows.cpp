#include "gpu/plan/DivideRows.h"

#include <algorithm>

#include "cpu/analysis/AxisDims.h"
#include "cpu/rewrite/grid/SplitAxis.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::gpu {
namespace {

/// Of the benchmark's blocks, those with 4096 or 8192 elements were the fastest on an H100. Larger ones are divided
/// into parts of 4096: 16 for each of 256 threads.
constexpr int64_t kMostElements = 8192, kElements = 4096;
/// What every part reads may be this many times as large as a part: layer_norm was the fastest with one row, although
/// each part reads two rows of weights (H100).
constexpr int64_t kSharedPerPart = 2;
/// The fewest elements of a part that are neighbours in memory: four for each thread of a warp.
constexpr int64_t kNeighbours = 128;

/// Elements of the largest block that the axis divides, and of all blocks that it does not, which every part reads.
struct Blocks {
  int64_t divided = 0, others = 0;
};
Blocks blocksOf(const KernelArguments& arguments, const cpu::AxisDims& dims, int axis) {
  Blocks found;
  for (size_t i = 0; i < arguments.numBlocks(); ++i) {
    const mlir::Value block = arguments.block(i);
    const int64_t elements = num_elements(shapeOf(block.getType()));
    if (dims.follows(block, axis))
      found.divided = std::max(found.divided, elements);
    else
      found.others += elements;
  }
  return found;
}

/// The first dimension of an output that the axis divides; the outer ones are divided first, so that rows stay whole.
size_t dimensionOf(const KernelArguments& arguments, const cpu::AxisDims& dims, int axis) {
  const mlir::Value output = arguments.output(0);
  const size_t rank = shapeOf(output.getType()).size();
  for (size_t d = 0; d < rank; ++d)
    if (dims.axisOf(output, d) == axis) return d;
  return rank;
}

bool multiplies(const KernelPackage& package) {
  return package.kernelFunction().walk([](tpu::MatmulOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
}

}  // namespace

std::optional<KernelPackage> divideRows(const KernelPackage& package) {
  const KernelArguments arguments(package);
  if (multiplies(package) || arguments.numBlocks() == arguments.numInputs()) return std::nullopt;
  const auto dims = cpu::AxisDims::ofParts(package);
  if (!dims) return std::nullopt;
  std::optional<int> best;
  for (int axis = 0; axis < dims->rank(); ++axis) {
    const size_t d = dimensionOf(arguments, *dims, axis);
    if (dims->free(axis) && d < shapeOf(arguments.output(0).getType()).size() &&
        cpu::canSplitAxis(package, *dims, axis) && (!best || d < dimensionOf(arguments, *dims, *best)))
      best = axis;
  }
  if (!best) return std::nullopt;
  const Blocks blocks = blocksOf(arguments, *dims, *best);
  if (blocks.divided <= kMostElements) return std::nullopt;
  const int64_t block = dims->block(*best), least = std::max(kElements, blocks.others / kSharedPerPart);
  const Shape output = shapeOf(arguments.output(0).getType());
  int64_t part = block, neighbours = 1;  // of an index of the axis
  for (size_t d = dimensionOf(arguments, *dims, *best) + 1; d < output.size(); ++d) neighbours *= output[d];
  for (int64_t p = block; p * neighbours >= kNeighbours && p >= 1; --p)
    if (block % p == 0) {
      part = p;
      if (blocks.divided / block * p <= least) break;
    }
  return part < block ? cpu::splitAxis(package, *best, part) : std::nullopt;
}

}  // namespace smalti::gpu
