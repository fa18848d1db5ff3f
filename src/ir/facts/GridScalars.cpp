#include "ir/facts/GridScalars.h"

#include "ir/KernelArguments.h"
#include "ir/facts/OpFamilies.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"

namespace smalti {

bool isArithmeticOn(mlir::Value scalar, llvm::function_ref<bool(mlir::BlockArgument)> isKnown,
                    llvm::function_ref<bool(mlir::Operation&)> accepts) {
  constexpr size_t kMost = 64;  // code computes them in each step
  llvm::SmallVector<mlir::Value, 8> open{scalar};
  llvm::DenseSet<mlir::Value> seen;
  while (!open.empty()) {
    const mlir::Value at = open.pop_back_val();
    if (!seen.insert(at).second) continue;
    if (seen.size() > kMost || !at.getType().isIntOrIndex()) return false;
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(at)) {
      if (!isKnown(argument)) return false;
      continue;
    }
    mlir::Operation* op = at.getDefiningOp();
    const bool isLoad = llvm::isa<mlir::memref::LoadOp>(op);
    if ((!isLoad && op->getDialect()->getNamespace() != "arith") || !accepts(*op)) return false;
    open.append(op->operand_begin() + (isLoad ? 1 : 0), op->operand_end());
  }
  return true;
}

bool isOfGrid(const KernelArguments& arguments, mlir::Value scalar) {
  mlir::Block* const body = &mlir::func::FuncOp(arguments.function()).getBody().front();
  return isArithmeticOn(
      scalar,
      [&](mlir::BlockArgument argument) {
        return argument.getOwner() == body && argument.getArgNumber() < arguments.gridRank();
      },
      [&](mlir::Operation& op) {
        if (op.getBlock() != body) return false;
        if (!llvm::isa<mlir::memref::LoadOp>(op)) return true;
        const auto role = arguments.roleOf(op.getOperand(0));
        return role && role->kind == ArgumentRole::scalarPrefetch && !mayBeWritten(op.getOperand(0));
      });
}

std::optional<int64_t> valueOf(mlir::Value scalar, llvm::DenseMap<mlir::Value, int64_t>& known) {
  if (const auto found = known.find(scalar); found != known.end()) return found->second;
  mlir::Operation* op = scalar.getDefiningOp();
  if (!op || op->getNumResults() != 1 || op->getNumRegions() > 0) return std::nullopt;
  llvm::SmallVector<mlir::Attribute, 4> operands;
  for (mlir::Value operand : op->getOperands()) {
    const auto value = operand.getType().isIntOrIndex() ? valueOf(operand, known) : std::nullopt;
    if (!value) return std::nullopt;
    operands.push_back(mlir::Builder(op->getContext()).getIntegerAttr(operand.getType(), *value));
  }
  llvm::SmallVector<mlir::OpFoldResult, 1> results;
  if (mlir::failed(op->fold(operands, results)) || results.size() != 1) return std::nullopt;
  if (auto same = llvm::dyn_cast<mlir::Value>(results[0])) return same == scalar ? std::nullopt : valueOf(same, known);
  auto attribute = llvm::dyn_cast<mlir::IntegerAttr>(llvm::cast<mlir::Attribute>(results[0]));
  if (!attribute || attribute.getValue().getSignificantBits() > 64) return std::nullopt;
  const int64_t value = attribute.getValue().getBitWidth() == 1 ? attribute.getValue().getZExtValue()
                                                                : attribute.getValue().getSExtValue();
  return known[scalar] = value;
}

}  // namespace smalti
