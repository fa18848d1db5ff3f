#include "gpu/plan/RoundedResults.h"

#include <vector>

#include "ir/Types.h"
#include "ir/facts/OpFamilies.h"
#include "ir/facts/Tolerance.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::gpu {
namespace {

bool isNarrow(mlir::Value v) {
  const DType t = elementDType(v.getType());
  return t == DType::bf16 || t == DType::f16;
}

bool isSumOrMaximum(mlir::Operation& op) {
  using Kind = mlir::vector::CombiningKind;
  auto reduction = llvm::dyn_cast<mlir::vector::MultiDimReductionOp>(op);
  if (!reduction) return false;
  const Kind kind = reduction.getKind();
  return kind == Kind::ADD || kind == Kind::MAXIMUMF || kind == Kind::MINIMUMF || kind == Kind::MAXNUMF ||
         kind == Kind::MINNUMF;
}

/// Ops whose results are about as exact as their operands, relative to the largest of these.
bool keepsErrors(mlir::Operation& op) {
  using namespace mlir::arith;
  return llvm::isa<AddFOp, SubFOp, MulFOp, DivFOp, NegFOp, MaximumFOp, MinimumFOp, MaxNumFOp, MinNumFOp, SelectOp,
                   mlir::math::AbsFOp, mlir::math::SqrtOp, mlir::math::RsqrtOp>(op) ||
         movesElements(op) || isSumOrMaximum(op);
}

class RoundedResults {
 public:
  /// Whether all uses of an f32 value end in roundings to 16 bits.
  bool areRounded(mlir::Value v) {
    if (const auto known = known_.find(v); known != known_.end()) return known->second;
    const bool all = !v.use_empty() && llvm::all_of(v.getUsers(), [&](mlir::Operation* user) {
      if (user->getNumResults() != 1) return false;
      const mlir::Value result = user->getResult(0);
      if (llvm::isa<mlir::arith::TruncFOp>(user)) return isNarrow(result);
      return keepsErrors(*user) && elementDType(result.getType()) == DType::f32 && areRounded(result);
    });
    return known_[v] = all;
  }

 private:
  llvm::DenseMap<mlir::Value, bool> known_;
};

/// What the op may be wrong by, if that makes its code shorter. None: it stays exact.
std::optional<Tolerance> allowed(mlir::Operation& op, RoundedResults& rounded) {
  const bool isQuotient = llvm::isa<mlir::arith::DivFOp>(op);
  if (!isQuotient && !llvm::isa<mlir::math::ExpOp, mlir::math::Exp2Op>(op)) return std::nullopt;
  const mlir::Value result = op.getResult(0);
  const DType t = elementDType(result.getType());
  // Quotients of bf16 differ from all numbers between two bf16 by 2^-17 or more; those of f16 do by 2^-23.
  const bool isShort =
      t == DType::f32 ? rounded.areRounded(result) : t == DType::bf16 || (t == DType::f16 && !isQuotient);
  if (!isShort) return std::nullopt;
  const Tolerance wanted = isQuotient ? kShortDivisions : kShortExponentials;
  return covers(toleranceOf(op), wanted) ? std::nullopt : std::optional(wanted);
}

std::vector<std::pair<mlir::Operation*, Tolerance>> shortened(const KernelPackage& package) {
  RoundedResults rounded;
  std::vector<std::pair<mlir::Operation*, Tolerance>> found;
  package.kernelFunction().walk([&](mlir::Operation* op) {
    if (const auto tolerance = allowed(*op, rounded)) found.emplace_back(op, *tolerance);
  });
  return found;
}

}  // namespace

std::optional<KernelPackage> shortenRoundedResults(const KernelPackage& package) {
  if (shortened(package).empty()) return std::nullopt;
  KernelPackage made = package.copy();
  for (const auto& [op, tolerance] : shortened(made)) allow(*op, tolerance);
  return made;
}

}  // namespace smalti::gpu
