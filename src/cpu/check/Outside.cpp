#include "cpu/check/Outside.h"

#include "cpu/analysis/AxisDims.h"
#include "cpu/analysis/EdgeMasks.h"
#include "cpu/analysis/ReadBeforeWrite.h"
#include "cpu/check/Definedness.h"
#include "cpu/check/Masks.h"
#include "ir/BlockGeometry.h"
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
      return isWholeLoad(*op, ref) && valueStays(op->getResult(0));
    });
  }

 private:
  static bool isWholeLoad(mlir::Operation& op, mlir::Value ref) {
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

/// Follows undefined elements along grid axes: an element of a value at a position past the end of an array depends
/// only on elements at that position along the axis, and every result has the same end along it.
class OutsideByAxis {
 public:
  OutsideByAxis(const KernelPackage& package, size_t input)
      : package_(package), arguments_(package), kernel_(arguments_.function()), input_(input) {}

  bool stays() const {
    const auto& window = arguments_.windowOf(input_);
    if (!window || window->elementIndexed || !package_.aliases.empty()) return false;
    const auto dims = AxisDims::of(package_);
    if (!dims) return false;
    const IndexMapFacts map(arguments_.indexMap(*window), arguments_.gridRank());
    const BlockGeometry geometry(*window, arguments_.arrayOf(input_).shape);
    for (size_t d = 0; d < window->bounds.size(); ++d) {
      if (!geometry.hasPartialBlock(d) || edgeMasks(package_, input_, d)) continue;
      const auto& form = map.coordinates()[d].form;
      const auto axis = form ? form->gridIndex() : std::nullopt;
      if (!axis || !keepsPositions(*dims, static_cast<int>(*axis)) || !keepsBlocks(*dims, static_cast<int>(*axis)))
        return false;
    }
    return true;
  }

 private:
  /// No op combines elements at different positions along the axis.
  bool keepsPositions(const AxisDims& dims, int axis) const {
    if (!dims.free(axis) || dims.contracted(axis)) return false;
    bool keeps = true;
    kernel_.getBody().front().walk([&](mlir::Operation* op) {
      if (llvm::any_of(op->getOperands(), [&](mlir::Value v) { return dims.follows(v, axis); }))
        keeps &= maskRuleOf(*op) != MaskRule::none;
    });
    return keeps;
  }

  /// Whether no memory carries elements from one block along the axis to the next, because the first step of a block
  /// overwrites it.
  bool keepsBlocks(const AxisDims& dims, int axis) const {
    const auto accessesFrom = [&](int first) {
      std::vector<bool> zero;
      for (int d = 0; d < dims.rank(); ++d)
        zero.push_back(package_.signature.grid[static_cast<size_t>(d)] == 1 || d >= first);
      return accessesOfOneRun(kernel_, zero).arguments;
    };
    const auto always = accessesFrom(dims.rank()), first = accessesFrom(axis + 1);
    return llvm::all_of(kernel_.getArguments(), [&](mlir::BlockArgument ref) {
      const auto role = arguments_.roleOf(ref);
      if (!role || role->kind == ArgumentRole::input || !dims.follows(ref, axis)) return true;
      const unsigned number = ref.getArgNumber();
      return !always[number].readFirst || (!first[number].readFirst && first[number].covered);
    });
  }

  const KernelPackage& package_;
  const KernelArguments arguments_;
  mutable mlir::func::FuncOp kernel_;
  size_t input_;
};

}  // namespace

bool staysOutside(const KernelPackage& package, size_t input) {
  return Outside(package, input).stays() || OutsideByAxis(package, input).stays();
}

}  // namespace smalti::cpu
