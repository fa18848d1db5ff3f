#include "cpu/plan/RowDivisors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace smalti::cpu {

using schedule::ElementMap;
using schedule::isVector;
using schedule::operandMap;
using schedule::ScheduledOp;
using schedule::Segment;

std::optional<RowValue> rowValueOf(const Segment& segment, mlir::Value v, ElementMap map, int column) {
  while (map.usesColumn(column)) {
    const ScheduledOp* p = segment.find(v);
    if (!p || !p->op || p->isLoad() || p->isStore() || !isRematerializable(*p)) return std::nullopt;
    auto inner = operandMap(*p->op, 0, map);
    if (!inner) return std::nullopt;
    v = p->op->getOperand(0);
    map = std::move(*inner);
  }
  return RowValue{v, std::move(map)};
}

void findRowDivisors(const Segment& segment, mlir::Value value, const ElementMap& map, int column,
                     llvm::function_ref<bool(mlir::Value)> isMade, llvm::SmallVectorImpl<RowValue>& found) {
  llvm::DenseSet<mlir::Value> seen;
  llvm::SmallVector<RowValue, 8> waiting{{value, map}};
  while (!waiting.empty()) {
    const RowValue now = waiting.pop_back_val();
    if (!isVector(now.value) || !now.map.usesColumn(column) || isMade(now.value) || !seen.insert(now.value).second)
      continue;
    const ScheduledOp* p = segment.find(now.value);
    if (!p || p->isLoad() || schedule::isReduction(*p->op)) continue;
    if (llvm::isa<mlir::arith::DivFOp>(p->op)) {
      auto divisor = rowValueOf(segment, p->op->getOperand(1), now.map, column);
      if (divisor && isVector(divisor->value) && !schedule::isSplatConstant(divisor->value) &&
          !llvm::is_contained(found, *divisor))
        found.push_back(*divisor);
    }
    for (unsigned i = 0; i < p->op->getNumOperands(); ++i)
      if (auto inner = operandMap(*p->op, i, now.map)) waiting.push_back({p->op->getOperand(i), *inner});
  }
}

}  // namespace smalti::cpu
