#include "schedule/ElementMap.h"

#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::schedule {

ElementMap identityMap(std::span<const int64_t> shape, int numRows) {
  ElementMap map;
  int row = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1)
      map.entries.push_back({});
    else
      map.entries.push_back({d + 1 == shape.size() ? numRows : row++, 0});
  }
  return map;
}

ElementMap rowMap(std::span<const int64_t> shape) {
  ElementMap map;
  int row = 0;
  for (int64_t d : shape) map.entries.push_back(d == 1 ? MapEntry{} : MapEntry{row++, 0});
  return map;
}

int iotaDimension(mlir::Operation& op) {
  const auto dims = integersAttribute(op, "dimensions");
  return dims.size() == 1 ? static_cast<int>(dims[0]) : -1;
}

std::optional<ElementMap> operandMap(mlir::Operation& op, unsigned number, const ElementMap& map) {
  const Shape from = shapeOf(op.getOperand(number).getType()), to = shapeOf(op.getResult(0).getType());
  if (llvm::isa<mlir::vector::BroadcastOp>(op)) {
    if (map.flat) {
      if (num_elements(from) == num_elements(to)) return map;
      if (num_elements(from) == 1) return ElementMap{{MapEntry{}}, true};
      return std::nullopt;
    }
    ElementMap out;
    for (size_t d = 0; d < from.size(); ++d)
      out.entries.push_back(from[d] == 1 ? MapEntry{} : map.entries[d + to.size() - from.size()]);
    return out;
  }
  if (llvm::isa<mlir::vector::ShapeCastOp>(op)) {
    if (map.flat) return map;
    const auto source = unitReshape(to, from);
    if (!source) return std::nullopt;
    ElementMap out;
    for (int d : *source) out.entries.push_back(d < 0 ? MapEntry{} : map.entries[static_cast<size_t>(d)]);
    return out;
  }
  if (llvm::isa<mlir::vector::ExtractStridedSliceOp>(op)) {
    if (map.flat) return std::nullopt;
    ElementMap out = map;
    const auto starts = integersAttribute(op, "offsets");
    for (size_t d = 0; d < starts.size() && d < out.entries.size(); ++d) out.entries[d].offset += starts[d];
    return out;
  }
  return map;
}

}  // namespace smalti::schedule
