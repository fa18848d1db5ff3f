#include "cpu/rewrite/grid/RetileWithoutPadding.h"

#include <algorithm>
#include <numeric>

#include "cpu/Processor.h"
#include "cpu/analysis/AxisDims.h"
#include "cpu/rewrite/grid/ResizeAxis.h"
#include "ir/KernelArguments.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu {
namespace {

// Chosen so that the rows with partial blocks of `./do bench cpu` are as fast as those without, on the processor that
// docs/performance.md names.

/// The fewest elements of a block; smaller blocks do not repay the overhead of a grid step.
constexpr int64_t kMinElements = 64 << 10;
/// How many times smaller a block may become than its room, to divide its array, and how many times larger, to be all
/// of it.
constexpr int64_t kMaxShrink = 8, kMaxGrowth = 4;
/// How many times smaller it may become so that blocks begin at a cache line.
constexpr int64_t kMaxShrinkForAlignment = 4;

/// A divisor of `total` of at most `most`: a multiple of `step` is preferred even to one that is a few times larger.
int64_t divisorUpTo(int64_t total, int64_t most, int64_t step) {
  int64_t found = 1, stepped = 0;
  const auto take = [&](int64_t d) {
    if (d > most) return;
    found = std::max(found, d);
    if (d % step == 0) stepped = std::max(stepped, d);
  };
  for (int64_t d = 1; d * d <= total; ++d) {
    if (total % d != 0) continue;
    take(d);
    take(total / d);
  }
  return stepped * kMaxShrinkForAlignment >= found ? stepped : found;
}

class Retiler {
 public:
  explicit Retiler(bool partialOnly) : partialOnly_(partialOnly) {}

  std::optional<KernelPackage> run(const KernelPackage& package) {
    const KernelSignature& s = package.signature;
    const auto isWindow = [](const std::optional<Window>& w) { return w && !(w->revisitMode == RevisitMode::any); };
    if (s.grid.empty() || package.results.empty() || !package.aliases.empty() || !llvm::all_of(s.windows, isWindow))
      return std::nullopt;
    dims_ = AxisDims::of(package);
    if (!dims_) return std::nullopt;
    isPartial_ = hasPartialBlock(package);
    if (!isPartial_ && partialOnly_) return std::nullopt;
    const std::vector<int> axes = axesFromInside(package);
    if ((!isPartial_ && !rowsInPieces(package, axes)) || !independentSteps(package)) return std::nullopt;
    std::vector<int64_t> blocks;
    for (int axis : axes) blocks.push_back(dims_->block(axis));
    choose(axes, storage_bytes(package.results[0].dtype), blocks);
    std::optional<KernelPackage> made;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (blocks[i] == dims_->block(axes[i])) continue;
      if (!made) made = package.copy();
      resizeAxis(*made, axes[i], blocks[i]);
    }
    return made;
  }

 private:
  bool usable(const KernelPackage& package, int axis) const {
    return dims_->free(axis) && !dims_->contracted(axis) &&
           package.kernelFunction().getArgument(static_cast<unsigned>(axis)).use_empty();
  }
  bool isPartial(int axis) const { return dims_->extent(axis) % dims_->block(axis) != 0; }
  bool hasPartialBlock(const KernelPackage& package) const {
    for (int a = 0; a < dims_->rank(); ++a)
      if (usable(package, a) && isPartial(a)) return true;
    return false;
  }

  /// Blocks have pieces of rows, which are rows of all arrays.
  bool rowsInPieces(const KernelPackage& package, const std::vector<int>& axes) const {
    if (axes.empty() || dims_->block(axes[0]) >= dims_->extent(axes[0])) return false;
    const KernelArguments arguments(package);
    for (size_t i = 0; i < arguments.numBlocks(); ++i) {
      const mlir::Value ref = arguments.block(i);
      if (llvm::none_of(axes, [&](int a) { return dims_->follows(ref, a); })) continue;
      const auto block = llvm::cast<mlir::ShapedType>(ref.getType()).getShape();
      if (block.back() != 1 && dims_->axisOf(ref, block.size() - 1) != axes[0]) return false;
    }
    return true;
  }

  /// The axes whose blocks may be resized, in the order of the first result's dimensions, the last one first.
  std::vector<int> axesFromInside(const KernelPackage& package) const {
    std::vector<int> axes;
    const mlir::Value result = KernelArguments(package).output(0);
    for (size_t d = llvm::cast<mlir::ShapedType>(result.getType()).getShape().size(); d-- > 0;)
      if (const int a = dims_->axisOf(result, d); a >= 0 && usable(package, a)) axes.push_back(a);
    return axes;
  }

  void choose(const std::vector<int>& axes, int64_t elementBytes, std::vector<int64_t>& blocks) const {
    int64_t elements = 1;
    for (size_t i = 0; i < axes.size(); ++i) elements *= std::min(blocks[i], dims_->extent(axes[i]));
    const int64_t most = std::max(isPartial_ ? 2 * elements : elements, kMinElements);
    int64_t inside = 1;
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t extent = dims_->extent(axes[i]), room = std::max<int64_t>(most / inside, 1);
      // Blocks that begin at a cache line.
      int64_t fit =
          divisorUpTo(extent, room, kLineBytes / std::gcd<int64_t, int64_t>(kLineBytes, inside * elementBytes));
      // If the size has no good divisors, one block or a partial last block is better than many small steps.
      if (fit * kMaxShrink < std::min(room, extent)) {
        if (extent <= kMaxGrowth * room)
          fit = extent;
        else if (isPartial(axes[i]))
          fit = room;
        else
          fit = std::max(fit, blocks[i]);
      }
      blocks[i] = fit;
      inside *= fit;
    }
  }

  const bool partialOnly_;
  std::optional<AxisDims> dims_;
  bool isPartial_ = false;
};

}  // namespace

std::optional<KernelPackage> retileWithoutPadding(const KernelPackage& package) { return Retiler(false).run(package); }

std::optional<KernelPackage> retilePartialBlocks(const KernelPackage& package) { return Retiler(true).run(package); }

}  // namespace smalti::cpu
