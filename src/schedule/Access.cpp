#include "schedule/Access.h"

#include "ir/facts/Attributes.h"
#include "ir/facts/OpFamilies.h"
#include "mlir/IR/BuiltinTypes.h"

namespace smalti::schedule {
namespace {

/// How many ops deep two index computations are compared.
constexpr int kMaxDepth = 8;

bool isSameValue(mlir::Value a, mlir::Value b, int depth = kMaxDepth) {
  if (a == b) return true;
  mlir::Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  if (!x || !y || depth == 0 || x->getName() != y->getName() || x->getNumResults() != 1) return false;
  if (a.getType() != b.getType() || x->getNumOperands() != y->getNumOperands()) return false;
  if (!isPure(*x) && !isView(*x)) return false;
  if (x->getAttrDictionary() != y->getAttrDictionary()) return false;
  for (unsigned i = 0; i < x->getNumOperands(); ++i)
    if (!isSameValue(x->getOperand(i), y->getOperand(i), depth - 1)) return false;
  return true;
}

/// The ref and its indices, among the op's operands.
mlir::OperandRange addressOf(mlir::Operation& op) {
  for (unsigned i = 0; i < op.getNumOperands(); ++i)
    if (auto ref = llvm::dyn_cast<mlir::MemRefType>(op.getOperand(i).getType()))
      return op.getOperands().slice(i, 1 + static_cast<unsigned>(ref.getRank()));
  return op.getOperands().take_front(0);
}

}  // namespace

bool haveSameAddress(mlir::Operation& a, mlir::Operation& b) {
  const mlir::OperandRange x = addressOf(a), y = addressOf(b);
  if (x.empty() || x.size() != y.size() || integersAttribute(a, "strides") != integersAttribute(b, "strides"))
    return false;
  for (unsigned i = 0; i < x.size(); ++i)
    if (!isSameValue(x[i], y[i])) return false;
  return true;
}

}  // namespace smalti::schedule
