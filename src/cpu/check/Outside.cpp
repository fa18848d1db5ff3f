#include "cpu/check/Outside.h"

#include "cpu/check/Definedness.h"
#include "cpu/check/Masks.h"
#include "cpu/lower/DistinctBlocks.h"
#include "cpu/lower/FirstUse.h"
#include "machine/flat/Types.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {
namespace {

using machine::flat::shapeOf;

class Outside {
 public:
  Outside(const KernelPackage& package, size_t input)
      : package_(package),
        kernel_(package.kernelFunction()),
        first_(static_cast<unsigned>(package.signature.grid.size()) +
               static_cast<unsigned>(package.signature.numScalarPrefetch)),
        inputs_(static_cast<size_t>(package.numInputs())),
        input_(input) {}

  bool stays() {
    const mlir::Value ref = argumentOf(input_);
    return llvm::all_of(ref.getUsers(), [&](mlir::Operation* op) {
      if (maskRuleOf(*op) == MaskRule::load && isDropped(op->getResult(0))) return true;
      return loadsWhole(*op, ref) && valueStays(op->getResult(0));
    });
  }

 private:
  mlir::Value argumentOf(size_t number) { return kernel_.getArgument(first_ + static_cast<unsigned>(number)); }

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
    auto ref = mlir::dyn_cast<mlir::BlockArgument>(refOperand(store));
    if (!ref || ref.getOwner() != &kernel_.getBody().front() || ref.getArgNumber() < first_ + inputs_) return false;
    const size_t number = ref.getArgNumber() - first_;
    if (number >= package_.signature.windows.size() || !isTrackable(package_, ref)) return false;
    if (!sameWindow(number) || !overwrites(store, ref)) return false;
    return llvm::all_of(ref.getUsers(), [&](mlir::Operation* op) {
      const MaskRule rule = maskRuleOf(*op);
      return rule == MaskRule::store || (rule == MaskRule::load && isDropped(op->getResult(0)));
    });
  }

  bool sameWindow(size_t output) {
    const auto &from = package_.signature.windows[input_], &to = package_.signature.windows[output];
    if (!from || !to || from->elementIndexed || to->elementIndexed || from->bounds != to->bounds) return false;
    const ArrayType& read = package_.operands[package_.operands.size() - inputs_ + input_];
    return read.shape == package_.results[output - inputs_].shape && sameMap(mapOf(*from), mapOf(*to));
  }
  mlir::func::FuncOp mapOf(const Window& window) {
    return mlir::cast<mlir::func::FuncOp>(package_.module.get().lookupSymbol(window.transform));
  }

  const KernelPackage& package_;
  mlir::func::FuncOp kernel_;
  unsigned first_;  ///< the kernel function's argument of input 0
  size_t inputs_, input_;
  llvm::DenseSet<mlir::Value> seen_;
};

}  // namespace

bool staysOutside(const KernelPackage& package, size_t input) { return Outside(package, input).stays(); }

}  // namespace smalti::cpu
