// Ops that move elements.
#include <array>

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "lang/lower/Lowering.h"

namespace smalti::lang {
namespace {

void broadcastInDim(Lowering& l, const Op& op) {
  const ArrayType &from = l.typeOf(op.operands[0]), &to = l.typeOf(op.results[0]);
  const auto& dims = std::get<std::vector<int64_t>>(*op.find("broadcast_dimensions"));
  mlir::Value x = l.value(op.operands[0]);
  if (!from.shape.empty()) {  // axes to their places first, with size 1 between
    Shape spread(to.shape.size(), 1);
    for (size_t i = 0; i < dims.size(); ++i) spread[dims[i]] = from.shape[i];
    if (spread != from.shape) x = l.create1("vector.shape_cast", x, l.mlirType({from.dtype, spread}));
    if (spread == to.shape) {
      l.set(op.results[0], x);
      return;
    }
  }
  l.set(op.results[0], to.shape.empty() ? x : l.create1("vector.broadcast", x, l.mlirType(to)));
}

constexpr std::array kRows{
    LowerRow{"broadcast_in_dim", broadcastInDim},
};

}  // namespace

std::span<const LowerRow> shapeRules() { return kRows; }

}  // namespace smalti::lang
