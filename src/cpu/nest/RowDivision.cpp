#include "cpu/nest/RowDivision.h"

#include "llvm/IR/Intrinsics.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace smalti::cpu {
namespace {

Reg fma(Builder& b, Reg x, Reg y, Reg z) { return b.CreateIntrinsic(x->getType(), llvm::Intrinsic::fma, {x, y, z}); }

}  // namespace

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
      if (divisor && isVector(divisor->value) && !isSplatConstant(divisor->value) &&
          !llvm::is_contained(found, *divisor))
        found.push_back(*divisor);
    }
    for (unsigned i = 0; i < p->op->getNumOperands(); ++i)
      if (auto inner = operandMap(*p->op, i, now.map)) waiting.push_back({p->op->getOperand(i), *inner});
  }
}

Reg hasAccurateReciprocal(Builder& b, Reg divisor) {
  return b.CreateAnd(b.CreateFCmpOGT(divisor, llvm::ConstantFP::get(divisor->getType(), 0x1p-125)),
                     b.CreateFCmpOLT(divisor, llvm::ConstantFP::get(divisor->getType(), 0x1p125)));
}

Reg quotientByInverse(Builder& b, Reg x, Reg divisor, Reg inverse) {
  Reg first = b.CreateFMul(x, inverse);
  Reg rest = fma(b, first, divisor, b.CreateFNeg(x));  // exact; +0 if there is no remainder
  // An infinite quotient, whose remainder is NaN or infinite, is not changed by a finite correction.
  Reg most = llvm::ConstantFP::get(x->getType(), 0x1.fffffep127);
  rest = b.CreateMaxNum(b.CreateMinNum(rest, most), b.CreateFNeg(most));
  return fma(b, b.CreateFNeg(rest), inverse, first);  // a zero less +0 keeps its sign
}

}  // namespace smalti::cpu
