#include "cpu/emit/RowBounds.h"

#include "cpu/emit/elements/Elementwise.h"

namespace smalti::cpu {
namespace {

Reg ahead(NativeLowering& l, mlir::Value v, int depth) {
  if (Reg known = l.scalar(v)) return known;
  mlir::Operation* op = v.getDefiningOp();
  const bool scalar = op && op->getNumResults() == 1 && isNativeElementwise(*op) &&
                      llvm::none_of(op->getOperands(), [](mlir::Value operand) { return isVector(operand); });
  if (!scalar || depth > kMaxHoistDepth) return nullptr;
  std::vector<Reg> operands;
  for (mlir::Value operand : op->getOperands()) {
    operands.push_back(ahead(l, operand, depth + 1));
    if (!operands.back()) return nullptr;
  }
  return findElementwise(*op)(
      {l.b, *op, operands, elementDType(op->getOperand(0).getType()), elementDType(v.getType())});
}

/// Converts a group number to a row number, clamped to the existing rows.
Reg firstRow(NativeLowering& l, Reg group, int64_t groups, int64_t rows) {
  Builder& b = l.b;
  Reg within = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateSExt(group, b.getInt64Ty()), l.index(0));
  within = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, within, l.index(groups));
  return b.CreateMul(within, l.index(rows / groups));
}

}  // namespace

Reg hoistedScalar(NativeLowering& l, mlir::Value v) { return ahead(l, v, 0); }

std::optional<RowBounds> rowBounds(NativeLowering& l, const RowGroups& range, int64_t rows) {
  Reg begin = ahead(l, range.begin, 0), end = begin ? ahead(l, range.end, 0) : nullptr;
  if (!end) return std::nullopt;
  return RowBounds{firstRow(l, begin, range.groups, rows), firstRow(l, end, range.groups, rows)};
}

}  // namespace smalti::cpu
