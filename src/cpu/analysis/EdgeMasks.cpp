#include "cpu/analysis/EdgeMasks.h"

#include <algorithm>
#include <cstdlib>

#include "cpu/analysis/BoxAccess.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsShape.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/Constants.h"
#include "ir/facts/IndexMaps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace smalti::cpu {
namespace {

/// A whole number that every element computes from its position along one dimension and the index of the last axis.
struct Place {
  int dimension = -1;  ///< dimension that `positions` counts along; not used if that is 0
  int64_t positions = 0, steps = 0, constant = 0;

  std::optional<Place> plus(const Place& other, int64_t factor) const {
    if (positions != 0 && other.positions != 0 && dimension != other.dimension) return std::nullopt;
    Place sum{positions != 0 ? dimension : other.dimension, positions + factor * other.positions,
              steps + factor * other.steps, constant + factor * other.constant};
    for (int64_t v : {sum.positions, sum.steps, sum.constant})
      if (std::abs(v) >= kMax) return std::nullopt;
    return sum;
  }

  /// Half of what i32 holds, so that sums of a few numbers do not wrap, and no product of two exceeds 64 bits.
  static constexpr int64_t kMax = int64_t{1} << 30;
};

class MaskFinder {
 public:
  /// Finds masks of an input whose blocks along `dimension`, of `block` elements, follow the grid axis.
  MaskFinder(const KernelArguments& arguments, unsigned axis, size_t dimension, int64_t block, int64_t extent)
      : kernel_(arguments.function()),
        axis_(axis),
        dimension_(static_cast<int>(dimension)),
        block_(block),
        extent_(extent) {}

  /// nullopt: some value read from the ref has another use.
  std::optional<std::vector<EdgeMask>> find(mlir::Value ref) {
    const bool all = llvm::all_of(ref.getUsers(), [&](mlir::Operation* user) {
      const auto access = wholeAccess(*user);
      return access && !access->isStore && masked(access->value);
    });
    if (!all) return std::nullopt;
    return std::move(masks_);
  }

 private:
  bool masked(mlir::Value value) {
    return llvm::all_of(value.getUsers(), [&](mlir::Operation* user) {
      if (llvm::isa<mlir::arith::ExtFOp, mlir::arith::ExtSIOp, mlir::arith::ExtUIOp>(user))
        return masked(user->getResult(0));
      auto select = llvm::dyn_cast<mlir::arith::SelectOp>(user);
      if (!select) return false;
      const auto inside = conditionInside(select.getCondition());
      if (!inside) return false;
      mlir::Value chosen = *inside ? select.getTrueValue() : select.getFalseValue();
      mlir::Value other = *inside ? select.getFalseValue() : select.getTrueValue();
      if (chosen != value || !isZero(other)) return false;
      masks_.push_back({select, value});
      return true;
    });
  }

  /// The condition's value for elements inside the array, if all others have the opposite value.
  std::optional<bool> conditionInside(mlir::Value condition) {
    using enum mlir::arith::CmpIPredicate;
    auto compare = condition.getDefiningOp<mlir::arith::CmpIOp>();
    if (!compare) return std::nullopt;
    const auto predicate = compare.getPredicate();
    const bool swapped = predicate == sgt || predicate == sle;  // a > b is b < a; a <= b is not b < a
    const auto a = placeOf(compare.getOperand(swapped ? 1 : 0)), b = placeOf(compare.getOperand(swapped ? 0 : 1));
    if (!a || !b || (predicate != slt && predicate != sgt && predicate != sle && predicate != sge)) return std::nullopt;
    const bool less = predicate == slt || predicate == sgt;
    // a < b: either position + block * index < extent, or its opposite, extent - 1 < position + block * index.
    // Neither side wraps.
    if (std::max(std::abs(a->steps), std::abs(b->steps)) > block_ || extent_ + block_ >= Place::kMax)
      return std::nullopt;
    const auto distance = a->plus(*b, -1);
    if (!distance || distance->dimension != dimension_) return std::nullopt;
    const auto is = [&](int64_t positions, int64_t constant) {
      return distance->positions == positions && distance->steps == positions * block_ &&
             distance->constant == constant;
    };
    if (is(1, -extent_)) return less;
    if (is(-1, extent_ - 1)) return !less;
    return std::nullopt;
  }

  std::optional<Place> placeOf(mlir::Value v) {
    if (v == kernel_.getArgument(axis_)) return Place{.steps = 1};
    mlir::Operation* op = v.getDefiningOp();
    if (!op) return std::nullopt;
    llvm::APInt number;
    if (mlir::matchPattern(v, mlir::m_ConstantInt(&number))) {
      if (number.getSignificantBits() > 32) return std::nullopt;
      return Place{.constant = number.getSExtValue()};
    }
    if (!mlir::getElementTypeOrSelf(v.getType()).isInteger(32)) return std::nullopt;
    if (llvm::isa<tpu::IotaOp>(op)) {
      const Shape dimensions = integersAttribute(*op, "dimensions");
      if (dimensions.size() != 1) return std::nullopt;
      return Place{.dimension = static_cast<int>(dimensions[0]), .positions = 1};
    }
    if (auto broadcast = llvm::dyn_cast<mlir::vector::BroadcastOp>(op)) {
      // A reshape would change the positions.
      if (llvm::isa<mlir::VectorType>(broadcast.getSource().getType())) return std::nullopt;
      return placeOf(broadcast.getSource());
    }
    if (!llvm::isa<mlir::arith::AddIOp, mlir::arith::SubIOp, mlir::arith::MulIOp>(op)) return std::nullopt;
    auto a = placeOf(op->getOperand(0)), b = placeOf(op->getOperand(1));
    if (!a || !b) return std::nullopt;
    if (!llvm::isa<mlir::arith::MulIOp>(op)) return a->plus(*b, llvm::isa<mlir::arith::AddIOp>(op) ? 1 : -1);
    if (a->positions == 0 && a->steps == 0) std::swap(a, b);
    if (b->positions != 0 || b->steps != 0) return std::nullopt;
    return Place{}.plus(*a, b->constant);
  }

  mlir::func::FuncOp kernel_;
  unsigned axis_;
  int dimension_;
  int64_t block_, extent_;
  std::vector<EdgeMask> masks_;
};

}  // namespace

std::optional<std::vector<EdgeMask>> edgeMasks(const KernelPackage& package, size_t input, size_t dimension) {
  const KernelArguments arguments(package);
  const auto& window = arguments.windowOf(input);
  if (!window || window->elementIndexed) return std::nullopt;
  const IndexMapFacts map(arguments.indexMap(*window), arguments.gridRank());
  const auto& form = map.coordinates()[dimension].form;
  const auto axis = form ? form->gridIndex() : std::nullopt;
  const mlir::Value ref = arguments.input(input);
  if (!axis || shapeOf(ref.getType()) != window->bounds) return std::nullopt;
  return MaskFinder(arguments, static_cast<unsigned>(*axis), dimension, window->bounds[dimension],
                    arguments.arrayOf(input).shape[dimension])
      .find(ref);
}

}  // namespace smalti::cpu
