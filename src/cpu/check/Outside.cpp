#include "cpu/check/Outside.h"

#include "cpu/analysis/ReadBeforeWrite.h"
#include "cpu/check/Definedness.h"
#include "cpu/check/Masks.h"
#include "ir/KernelArguments.h"
#include "ir/Types.h"
#include "ir/facts/IndexMaps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {
namespace {

class Outside {
 public:
  Outside(const KernelPackage& package, size_t input) : package_(package), arguments_(package), input_(input) {}

  bool stays() {
    const mlir::Value ref = arguments_.input(input_);
    return llvm::all_of(ref.getUsers(), [&](mlir::Operation* op) {
      if (maskRuleOf(*op) == MaskRule::load && isDead(op->getResult(0))) return true;
      return loadsWhole(*op, ref) && valueStays(op->getResult(0));
    });
  }

 private:
  static bool loadsWhole(mlir::Operation& op, mlir::Value ref) {
    return mlir::isa<mlir::vector::LoadOp>(op) && shapeOf(op.getResult(0).getType()) == shapeOf(ref.getType()) &&
           llvm::all_of(op.getOperands().drop_front(), isZeroIndex);
  }

  bool valueStays(mlir::Value value) {
    if (!seen_.insert(value).second) return true;
    return llvm::all_of(value.getUsers(), [&](mlir::Operation* op) {
      const MaskRule rule = maskRuleOf(*op);
      if (rule == MaskRule::store) return storedValue(*op) == value && storeStays(*op);
      return (rule == MaskRule::elementwise || rule == MaskRule::select) &&
             shapeOf(op->getResult(0).getType()) == shapeOf(value.getType()) && valueStays(op->getResult(0));
    });
  }

  bool storeStays(mlir::Operation& store) {
    const mlir::Value ref = refOperand(store);
    const auto number = arguments_.blockNumber(ref);
    if (!number || *number < arguments_.numInputs() || !isTrackable(package_, ref)) return false;
    if (!sameWindow(*number) || !overwrites(store, ref)) return false;
    return llvm::all_of(ref.getUsers(), [&](mlir::Operation* op) {
      const MaskRule rule = maskRuleOf(*op);
      return rule == MaskRule::store || (rule == MaskRule::load && isDead(op->getResult(0)));
    });
  }

  bool sameWindow(size_t output) {
    const auto &from = arguments_.windowOf(input_), &to = arguments_.windowOf(output);
    if (!from || !to || from->elementIndexed || to->elementIndexed || from->bounds != to->bounds) return false;
    return arguments_.arrayOf(input_).shape == arguments_.arrayOf(output).shape &&
           sameIndexMap(arguments_.indexMap(*from), arguments_.indexMap(*to));
  }

  const KernelPackage& package_;
  KernelArguments arguments_;
  size_t input_;
  llvm::DenseSet<mlir::Value> seen_;
};

}  // namespace

bool staysOutside(const KernelPackage& package, size_t input) { return Outside(package, input).stays(); }

}  // namespace smalti::cpu
