#include "gpu/plan/FuseScale.h"

#include <cmath>
#include <limits>
#include <vector>

#include "cpu/analysis/RowWeights.h"
#include "cpu/rewrite/grid/CollapseReductionAxis.h"
#include "ir/TpuOpsMxu.h"
#include "ir/facts/Constants.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

namespace smalti::gpu {
namespace {

/// The exact product of a score and the scale is up to half a unit in the last place larger than the rounded maximum:
/// below this up to 32, which powers of 2 and of e can take, but not much more. From here on, neighbouring scores
/// differ by 64 or more, so that only the weights of the largest score matter.
constexpr double kHuge = 0x1p30;

/// What the rewrite needs: the ops of the comment in the header.
struct Scores {
  mlir::arith::MulFOp scaled;
  mlir::Value x;
  double scale = 0;
  mlir::vector::MultiDimReductionOp maximum;
  mlir::vector::ShapeCastOp column;    ///< the maxima, one per row
  mlir::arith::MaximumFOp running;     ///< with those of earlier steps; null: there are none
  mlir::vector::BroadcastOp repeated;  ///< along the row
  mlir::arith::SubFOp difference;
};

/// The only user of a value, if it is such an op.
template <class Op>
Op onlyUser(mlir::Value v) {
  return v.hasOneUse() ? llvm::dyn_cast<Op>(*v.getUsers().begin()) : Op();
}

/// Whether the value is an exponent of weights that are nothing beside the largest one.
bool isNegligible(mlir::Value exponent) {
  const auto number = splatFloat(exponent);
  return number && *number <= -100;
}

/// Whether the differences are only exponents of weights, possibly after those that are negligible have been replaced:
/// select(x < bound, other, x).
bool areExponents(mlir::Value differences) {
  const auto replacesNegligible = [&](mlir::Operation* user) {
    auto select = llvm::dyn_cast<mlir::arith::SelectOp>(user);
    return select && select.getFalseValue() == differences && isNegligible(select.getTrueValue());
  };
  return llvm::all_of(differences.getUsers(), [&](mlir::Operation* user) {
    if (llvm::isa<mlir::math::ExpOp, mlir::math::Exp2Op>(user)) return cpu::areWeights(*user);
    if (replacesNegligible(user)) return areExponents(user->getResult(0));
    auto compare = llvm::dyn_cast<mlir::arith::CmpFOp>(user);
    return compare && compare.getLhs() == differences && isNegligible(compare.getRhs()) &&
           llvm::all_of(compare->getUsers(), replacesNegligible);
  });
}

std::optional<Scores> scoresOf(mlir::arith::MulFOp scaled) {
  Scores s{.scaled = scaled};
  const auto type = llvm::dyn_cast<mlir::VectorType>(scaled.getType());
  if (!type || type.getRank() != 2 || !type.getElementType().isF32()) return std::nullopt;
  for (const unsigned side : {0, 1})
    if (const auto scale = splatFloat(scaled->getOperand(side))) {
      s.scale = *scale;
      s.x = scaled->getOperand(1 - side);
    }
  if (!s.x || !s.x.getDefiningOp<tpu::MatmulOp>() || !(s.scale > 0x1p-64 && s.scale <= 1)) return std::nullopt;
  for (mlir::Operation* user : scaled->getUsers()) {
    if (auto maximum = llvm::dyn_cast<mlir::vector::MultiDimReductionOp>(user); maximum && !s.maximum)
      s.maximum = maximum;
    else if (auto difference = llvm::dyn_cast<mlir::arith::SubFOp>(user); difference && !s.difference)
      s.difference = difference;
    else
      return std::nullopt;
  }
  if (!s.maximum || !cpu::isMaximumOfRows(s.maximum) || !s.difference || s.difference.getLhs() != scaled.getResult() ||
      !areExponents(s.difference.getResult()))
    return std::nullopt;
  s.column = onlyUser<mlir::vector::ShapeCastOp>(s.maximum.getResult());
  if (!s.column || s.column.getType().getShape() != llvm::ArrayRef<int64_t>{type.getShape()[0], 1}) return std::nullopt;
  s.repeated = s.difference.getRhs().getDefiningOp<mlir::vector::BroadcastOp>();
  if (!s.repeated) return std::nullopt;
  s.running = onlyUser<mlir::arith::MaximumFOp>(s.column.getResult());
  const mlir::Value rows = s.running ? s.running.getResult() : s.column.getResult();
  return s.repeated.getSource() == rows ? std::optional(s) : std::nullopt;
}

std::vector<Scores> allScores(const KernelPackage& package) {
  std::vector<Scores> found;
  package.kernelFunction().walk([&](mlir::arith::MulFOp op) {
    if (const auto scores = scoresOf(op)) found.push_back(*scores);
  });
  return found;
}

class Fuse {
 public:
  explicit Fuse(Scores s) : s_(s), b_(s.maximum), at_(s.difference.getLoc()), rows_(s.column.getType()) {}

  void run() {
    s_.maximum.getSourceMutable().assign(s_.x);
    b_.setInsertionPointAfter(s_.column);
    mlir::Value unscaled = s_.column.getResult();
    auto own = mlir::arith::MulFOp::create(b_, at_, unscaled, number(s_.scale));
    unscaled.replaceAllUsesExcept(own.getResult(), own);
    b_.setInsertionPoint(s_.difference);
    const mlir::Value maximum = s_.repeated.getSource();
    const auto [scale, offset] = scaleAndOffset(maximum, own.getResult(), unscaled);
    const auto contract = mlir::arith::FastMathFlagsAttr::get(b_.getContext(), mlir::arith::FastMathFlags::contract);
    auto product = mlir::arith::MulFOp::create(b_, at_, s_.x, repeated(scale), contract);
    auto sum = mlir::arith::AddFOp::create(b_, at_, product.getResult(), repeated(offset), contract);
    s_.difference.replaceAllUsesWith(sum.getResult());
    s_.difference.erase();
  }

 private:
  mlir::Value number(double value) {
    return mlir::arith::ConstantOp::create(b_, at_, mlir::DenseElementsAttr::get(rows_, static_cast<float>(value)));
  }
  mlir::Value repeated(mlir::Value rows) { return mlir::vector::BroadcastOp::create(b_, at_, s_.x.getType(), rows); }
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no) {
    return mlir::arith::SelectOp::create(b_, at_, condition, yes, no);
  }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpFOp::create(b_, at_, predicate, x, y);
  }

  /// x · scale + offset is x · s - maximum. Rows with a huge maximum are scaled by a power of 2 instead, which rounds
  /// nothing: where this block has the maximum, the offset is exactly that of its largest element; otherwise all
  /// weights of the block are negligible.
  std::pair<mlir::Value, mlir::Value> scaleAndOffset(mlir::Value maximum, mlir::Value own, mlir::Value unscaled) {
    using enum mlir::arith::CmpFPredicate;
    const double power = std::exp2(std::ceil(std::log2(s_.scale)));
    const mlir::Value negated = mlir::arith::NegFOp::create(b_, at_, maximum);
    const mlir::Value isHuge = mlir::arith::OrIOp::create(b_, at_, compare(OGE, maximum, number(kHuge)),
                                                          compare(OLE, maximum, number(-kHuge)));
    const mlir::Value exact = mlir::arith::MulFOp::create(b_, at_, unscaled, number(-power));
    const mlir::Value none = number(-std::numeric_limits<double>::infinity());
    const mlir::Value huge = select(compare(OEQ, maximum, own), exact, none);
    return {select(isHuge, number(power), number(s_.scale)), select(isHuge, huge, negated)};
  }

  Scores s_;
  mlir::OpBuilder b_;
  mlir::Location at_;
  mlir::VectorType rows_;
};

}  // namespace

std::optional<KernelPackage> fuseScale(const KernelPackage& package) {
  if (allScores(package).empty()) return std::nullopt;
  KernelPackage made = package.copy();
  for (const Scores& s : allScores(made)) Fuse(s).run();
  cpu::dropUnused(made);
  return made;
}

}  // namespace smalti::gpu
