#include "schedule/Access.h"

#include "ir/facts/Attributes.h"
#include "ir/facts/Constants.h"
#include "ir/facts/OpFamilies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
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

/// The shape of the vector that the op loads or stores.
std::span<const int64_t> accessedShape(mlir::Operation& op) {
  const mlir::Value v = op.getNumResults() == 1 ? mlir::Value(op.getResult(0)) : op.getOperand(0);
  auto vector = llvm::dyn_cast<mlir::VectorType>(v.getType());
  return vector ? std::span<const int64_t>(vector.getShape()) : std::span<const int64_t>();
}

}  // namespace

bool areDisjoint(mlir::Operation& a, mlir::Operation& b) {
  const mlir::OperandRange x = addressOf(a), y = addressOf(b);
  const auto ofA = accessedShape(a), ofB = accessedShape(b);
  if (x.empty() || x.size() != y.size() || x[0] != y[0] || ofA.size() + 1 != x.size() || ofB.size() + 1 != y.size() ||
      !integersAttribute(a, "strides").empty() || !integersAttribute(b, "strides").empty())
    return false;
  for (unsigned d = 0; d < ofA.size(); ++d) {
    const auto from = constantIndex(x[d + 1]), other = constantIndex(y[d + 1]);
    if (from && other && (*from + ofA[d] <= *other || *other + ofB[d] <= *from)) return true;
  }
  return false;
}

bool haveSameAddress(mlir::Operation& a, mlir::Operation& b) {
  const mlir::OperandRange x = addressOf(a), y = addressOf(b);
  if (x.empty() || x.size() != y.size() || integersAttribute(a, "strides") != integersAttribute(b, "strides"))
    return false;
  for (unsigned i = 0; i < x.size(); ++i)
    if (!isSameValue(x[i], y[i])) return false;
  return true;
}

}  // namespace smalti::schedule
