#include "tpu/View.h"

#include <numeric>

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "tpu/Tiling.h"

namespace smalti::tpu {

int64_t View::tile(const Chip& chip, size_t d) const {
  if (isLane(d)) return rank() == 1 ? tileElements(array.dtype) : kLanes;
  return isRow(d) ? tileRows(chip, array.dtype, array.shape[d]) : 1;
}

std::optional<View> viewOf(mlir::Value memref) {
  if (auto slice = memref.getDefiningOp<MemRefSliceOp>()) return viewOf(slice.getMemRef());
  if (auto annotate = memref.getDefiningOp<AnnotateOp>()) return viewOf(annotate.getInput());
  const auto type = mlir::dyn_cast<mlir::MemRefType>(memref.getType());
  if (!type) return std::nullopt;
  if (auto squeeze = memref.getDefiningOp<MemRefSqueezeOp>()) {
    auto view = viewOf(squeeze.getInput());
    if (!view) return std::nullopt;
    const auto from = mlir::cast<mlir::MemRefType>(squeeze.getInput().getType()).getShape();
    std::vector<size_t> kept;
    size_t to = 0;
    for (size_t i = 0; i < from.size(); ++i) {
      const size_t left = from.size() - i, wanted = type.getShape().size() - to;
      // Only as many dimensions of size 1 are removed as necessary.
      const bool keep =
          to < type.getShape().size() && from[i] == type.getShape()[to] && (from[i] != 1 || left == wanted);
      if (!keep) continue;
      kept.push_back(view->dimensions[i]);
      ++to;
    }
    if (kept.size() != type.getShape().size()) return std::nullopt;
    view->dimensions = std::move(kept);
    return view;
  }
  const auto array = arrayTypeOf(type);
  if (!array) return std::nullopt;
  View view{*array, memorySpaceOf(type), std::vector<size_t>(array->shape.size())};
  std::iota(view.dimensions.begin(), view.dimensions.end(), size_t{0});
  return view;
}

}  // namespace smalti::tpu
