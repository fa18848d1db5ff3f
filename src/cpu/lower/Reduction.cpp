#include "cpu/lower/Reduction.h"

#include <algorithm>
#include <optional>

#include "cpu/lower/Segment.h"

namespace smalti::cpu {
namespace {

std::optional<eval::ReduceKind> kindOf(mlir::Operation& op) {
  if (op.getName().getStringRef() != "vector.multi_reduction") return std::nullopt;
  return eval::reduceKindFromName(machine::flat::keywordAttribute(op, "kind"));
}

bool exists(eval::ReduceKind kind, DType t) {
  using K = eval::ReduceKind;
  const bool floats = kind == K::add || kind == K::mul || kind == K::maximumf || kind == K::minimumf;
  const bool integers = kind != K::maximumf && kind != K::minimumf;
  return (floats && (t == DType::f32 || isNarrowFloat(t))) || (integers && computesNatively(t) && is_integer(t));
}

}  // namespace

eval::ReduceKind reductionKind(mlir::Operation& op) { return *kindOf(op); }

bool isRowReduction(mlir::Operation& op) {
  const Shape shape = shapeOf(op.getOperand(0).getType());
  const auto dims = machine::flat::integersAttribute(op, "reduction_dims");
  const auto reduced = [&](size_t d) { return std::ranges::find(dims, static_cast<int64_t>(d)) != dims.end(); };
  if (shape.empty() || shape.back() == 1 || !reduced(shape.size() - 1)) return false;
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    if (shape[d] != 1 && reduced(d)) return false;
  return true;
}

bool isNativeReduction(mlir::Operation& op) {
  const auto kind = kindOf(op);
  if (!kind || !llvm::isa<mlir::VectorType>(op.getResult(0).getType())) return false;
  const DType t = elementDType(op.getOperand(0).getType());
  if (!exists(*kind, t) || num_elements(shapeOf(op.getOperand(0).getType())) == 0) return false;
  return isRowReduction(op) || (isSplatConstant(op.getOperand(1)) && !isNarrowFloat(t));
}

Reg identityOf(Builder& b, eval::ReduceKind kind, DType t) {
  using K = eval::ReduceKind;
  llvm::Type* type = registerType(b.getContext(), t, 1);
  const bool isFloat = type->isFloatTy();
  const auto integer = [&](const llvm::APInt& i) { return llvm::ConstantInt::get(type, i); };
  const unsigned width = type->getScalarSizeInBits();
  switch (kind) {
    case K::add:
      return isFloat ? static_cast<Reg>(llvm::ConstantFP::getNegativeZero(type)) : llvm::ConstantInt::get(type, 0);
    case K::mul:
      return isFloat ? static_cast<Reg>(llvm::ConstantFP::get(type, 1.0)) : llvm::ConstantInt::get(type, 1);
    case K::maximumf:
      return llvm::ConstantFP::getInfinity(type, true);
    case K::minimumf:
      return llvm::ConstantFP::getInfinity(type, false);
    case K::maxsi:
      return integer(llvm::APInt::getSignedMinValue(width));
    case K::minsi:
      return integer(llvm::APInt::getSignedMaxValue(width));
    case K::minui:
    case K::andi:
      return integer(llvm::APInt::getAllOnes(width));
    case K::maxui:
    case K::ori:
    case K::xori:
      return integer(llvm::APInt::getZero(width));
  }
  return nullptr;
}

Reg combine(Builder& b, eval::ReduceKind kind, DType t, Reg x, Reg y) {
  using K = eval::ReduceKind;
  const bool isFloat = x->getType()->isFPOrFPVectorTy();
  switch (kind) {
    case K::add:
      return isFloat ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
    case K::mul:
      return isFloat ? b.CreateFMul(x, y) : b.CreateMul(x, y);
    case K::maximumf:
      return b.CreateMaximum(x, y);
    case K::minimumf:
      return b.CreateMinimum(x, y);
    case K::maxsi:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y);
    case K::minsi:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y);
    case K::maxui:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, x, y);
    case K::minui:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, x, y);
    case K::andi:
      return b.CreateAnd(x, y);
    case K::ori:
      return b.CreateOr(x, y);
    case K::xori:
      return b.CreateXor(x, y);
  }
  return nullptr;
}

Reg combineLanes(Builder& b, eval::ReduceKind kind, DType t, Reg v) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  if (!type) return v;
  for (unsigned n = type->getNumElements(); n > 1; n /= 2) {
    llvm::SmallVector<int, 64> low, high;
    for (unsigned k = 0; k < n / 2; ++k) {
      low.push_back(static_cast<int>(k));
      high.push_back(static_cast<int>(k + n / 2));
    }
    v = combine(b, kind, t, b.CreateShuffleVector(v, low), b.CreateShuffleVector(v, high));
  }
  return b.CreateExtractElement(v, uint64_t{0});
}

}  // namespace smalti::cpu
