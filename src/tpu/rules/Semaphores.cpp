// Copies that signal a regular semaphore: newer generations support them if the copy is a single transfer.
#include <fmt/format.h>

#include "ir/TpuOps.h"
#include "tpu/View.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {
namespace {

/// Strided dimensions of one transfer, outside its contiguous memory.
constexpr size_t kMaxStrides = 3;

/// `count` pieces at equal distances (in tiles) in the source and in the target.
struct Level {
  int64_t count = 1, from = 1, to = 1;
};

/// Appends the next outer level, or merges it into the last one if that continues at the same distances.
void add(std::vector<Level>& levels, const Level& level) {
  if (level.count == 1) return;
  Level& last = levels.back();
  if (level.from == last.count * last.from && level.to == last.count * last.to)
    last.count *= level.count;
  else
    levels.push_back(level);
}

/// The levels of a copy between refs of one shape, from the contiguous one outwards; none if a size is dynamic.
std::vector<Level> levelsOf(const View& from, const View& to, std::span<const int64_t> shape, const Chip& chip) {
  std::vector<Level> levels(1);
  int64_t distanceFrom = 1, distanceTo = 1;
  size_t atFrom = from.rank(), atTo = to.rank();  // the distances include dimensions from these on
  const auto include = [&](const View& view, size_t& at, size_t d, int64_t& distance) {
    while (at > d + 1) {
      --at;
      distance *= (view.array.shape[at] + view.tile(chip, at) - 1) / view.tile(chip, at);
    }
  };
  for (size_t i = shape.size(); i-- > 0;) {
    if (mlir::ShapedType::isDynamic(shape[i])) return {};
    const size_t dFrom = from.dimensions[i], dTo = to.dimensions[i];
    include(from, atFrom, dFrom, distanceFrom);
    include(to, atTo, dTo, distanceTo);
    const int64_t tile = from.tile(chip, dFrom);
    add(levels, {(shape[i] + tile - 1) / tile, distanceFrom, distanceTo});
    // Then the next tile does not continue the copied part of this one.
    const bool isPartOfTile = shape[i] < tile && shape[i] < from.array.shape[dFrom] && from.isRow(dFrom);
    if (isPartOfTile && levels.size() == 1) levels.push_back({});
  }
  return levels;
}

bool isRegular(mlir::Value semaphore) {
  const auto type = semaphore ? mlir::dyn_cast<mlir::MemRefType>(semaphore.getType()) : mlir::MemRefType();
  return type && mlir::isa<SemaphoreType>(type.getElementType());
}

void onCopy(mlir::Operation* op, const Judge& judge) {
  auto copy = mlir::dyn_cast<EnqueueDMAOp>(op);
  if (!copy || (!isRegular(copy.getSourceSemaphore()) && !isRegular(copy.getTargetSemaphore()))) return;
  if (!judge.chip.takes.regularSemaphoreCopies)
    return judge.refuse(reason::kUnsupportedOp, op->getLoc(),
                        {.message = "a copy signals a regular semaphore",
                         .need = "another generation",
                         .have = {},
                         .help = "use a DMA semaphore"});
  const auto type = mlir::dyn_cast<mlir::MemRefType>(copy.getSource().getType());
  const auto from = viewOf(copy.getSource()), to = viewOf(copy.getTarget());
  if (!type || !from || !to) return;
  const size_t strides = levelsOf(*from, *to, type.getShape(), judge.chip).size();
  if (strides > kMaxStrides + 1)
    judge.refuse(reason::kUnsupportedOp, op->getLoc(),
                 {.message = "Non-DMA semaphores in transfers that require unrolling.",
                  .need = fmt::format("at most {} strides outside contiguous memory", kMaxStrides),
                  .have = fmt::format("{} strides", strides - 1),
                  .help = "use a DMA semaphore, or copy fewer dimensions at a time"});
}

}  // namespace

std::span<const Rule> semaphoreRules() {
  static constexpr Rule kRules[]{{.onOp = onCopy}};
  return kRules;
}

}  // namespace smalti::tpu
