#include "cpu/nest/Reduction.h"

#include <algorithm>
#include <optional>

#include "cpu/emit/elements/NarrowFloats.h"
#include "cpu/nest/Schedule.h"
#include "cpu/ops/NativeOps.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {

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

namespace {

bool isExtreme(eval::ReduceKind kind) {
  return kind == eval::ReduceKind::maximumf || kind == eval::ReduceKind::minimumf;
}

llvm::Type* integersLike(Builder& b, Reg v) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return vector ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(b.getInt32Ty(), vector->getNumElements()))
                : b.getInt32Ty();
}

/// One instruction; of two zeros, and where one is NaN, it is `y`.
Reg larger(Builder& b, eval::ReduceKind kind, Reg x, Reg y) {
  Reg wins = kind == eval::ReduceKind::maximumf ? b.CreateFCmpOGT(x, y) : b.CreateFCmpOLT(x, y);
  return b.CreateSelect(wins, x, y);
}

/// If the largest element is a zero, all others are negative: it is +0 when some element's sign is not set. The least:
/// -0 when some sign is.
Reg combineSigns(Builder& b, eval::ReduceKind kind, Reg x, Reg y) {
  return kind == eval::ReduceKind::maximumf ? b.CreateAnd(x, y) : b.CreateOr(x, y);
}

/// Lanes of the value, from one on.
Reg lanesFrom(Builder& b, Reg v, unsigned first, unsigned count) {
  llvm::SmallVector<int, 64> lanes;
  for (unsigned k = 0; k < count; ++k) lanes.push_back(static_cast<int>(first + k));
  return b.CreateShuffleVector(v, lanes);
}

/// Values of at least this many lanes are folded before their signs and NaNs are kept: an instruction does it for two
/// registers. Chosen, not measured.
constexpr int kFoldedFrom = 32;
unsigned lanesOf(Reg v) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return type ? type->getNumElements() : 1;
}

template <class Combine>
Reg combineLanes(Builder& b, Reg v, Combine&& combineTwo) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  if (!type) return v;
  for (unsigned n = type->getNumElements(); n > 1; n /= 2) {
    v = combineTwo(lanesFrom(b, v, 0, n / 2), lanesFrom(b, v, n / 2, n / 2));
  }
  return b.CreateExtractElement(v, uint64_t{0});
}

/// Whether any lane (i1) is true.
Reg anyLane(Builder& b, Reg conditions) {
  const unsigned lanes = lanesOf(conditions);
  if (!conditions->getType()->isVectorTy()) return conditions;
  return b.CreateIsNotNull(b.CreateBitCast(conditions, b.getIntNTy(lanes)));
}

/// The sum, contracted: whatever multiplication computes the value last, also inside a function such as exp, need not
/// be rounded before it is added, as sums are taken in any order. This is instruction selection, which LLVM would do
/// itself for two instructions with the flag `contract`; but the flag would also contract the value's other uses.
Reg contractedSum(Builder& b, Reg sum, Reg value) {
  auto* product = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (!product || product->getOpcode() != llvm::Instruction::FMul) return b.CreateFAdd(sum, value);
  return b.CreateIntrinsic(value->getType(), llvm::Intrinsic::fma,
                           {product->getOperand(0), product->getOperand(1), sum});
}

}  // namespace

Accumulator startAccumulator(Builder& b, eval::ReduceKind kind, DType t, int lanes) {
  Reg start = splat(b, identityOf(b, kind, t), lanes);
  if (!isExtreme(kind)) return {start};
  Reg kept = lanes >= kFoldedFrom ? lanesFrom(b, start, 0, static_cast<unsigned>(lanes) / 2) : start;
  llvm::Type* integers = integersLike(b, kept);
  Reg signs = kind == eval::ReduceKind::maximumf ? llvm::Constant::getAllOnesValue(integers)
                                                 : llvm::Constant::getNullValue(integers);
  return {start, signs, llvm::Constant::getNullValue(b.CreateFCmpUNO(kept, kept)->getType())};
}

void accumulate(Builder& b, eval::ReduceKind kind, DType t, Accumulator& a, Reg value) {
  if (!isExtreme(kind)) {
    const bool isFloatSum = kind == eval::ReduceKind::add && value->getType()->isFPOrFPVectorTy();
    a[0] = isFloatSum ? contractedSum(b, a[0], value) : combine(b, kind, t, a[0], value);
    return;
  }
  a[0] = larger(b, kind, value, a[0]);
  const unsigned kept = lanesOf(a[1]);
  const bool folded = kept < lanesOf(value);
  Reg low = folded ? lanesFrom(b, value, 0, kept) : value, high = folded ? lanesFrom(b, value, kept, kept) : value;
  a[1] = combineSigns(b, kind, a[1], b.CreateBitCast(low, a[1]->getType()));
  if (folded) a[1] = combineSigns(b, kind, a[1], b.CreateBitCast(high, a[1]->getType()));
  a[2] = b.CreateOr(a[2], b.CreateFCmpUNO(low, high));
}

Reg finishAccumulators(Builder& b, eval::ReduceKind kind, DType t, std::span<const Accumulator> all) {
  const auto overAll = [&](size_t part, auto&& combineTwo) {
    Reg r = nullptr;
    for (const Accumulator& a : all) {
      Reg one = combineLanes(b, a[part], combineTwo);
      r = r ? combineTwo(r, one) : one;
    }
    return r;
  };
  if (!isExtreme(kind)) return overAll(0, [&](Reg x, Reg y) { return combine(b, kind, t, x, y); });
  Reg extreme = overAll(0, [&](Reg x, Reg y) { return larger(b, kind, x, y); });
  const auto inAny = [&](auto&& condition) {
    Reg any = b.getFalse();
    for (const Accumulator& a : all) any = b.CreateOr(any, anyLane(b, condition(a)));
    return any;
  };
  const auto zeroOf = [&](Reg signs) { return llvm::Constant::getNullValue(signs->getType()); };
  const bool largest = kind == eval::ReduceKind::maximumf;
  Reg positive = largest ? inAny([&](const Accumulator& a) { return b.CreateICmpSGE(a[1], zeroOf(a[1])); }) : nullptr;
  Reg negative = largest ? b.CreateNot(positive)
                         : inAny([&](const Accumulator& a) { return b.CreateICmpSLT(a[1], zeroOf(a[1])); });
  Reg nan = inAny([&](const Accumulator& a) { return a[2]; });
  llvm::Type* type = extreme->getType();
  Reg zero = b.CreateSelect(negative, llvm::ConstantFP::getNegativeZero(type), llvm::ConstantFP::get(type, 0.0));
  Reg isZero = b.CreateFCmpOEQ(extreme, llvm::ConstantFP::get(type, 0.0));
  return b.CreateSelect(nan, llvm::ConstantFP::getNaN(type), b.CreateSelect(isZero, zero, extreme));
}

}  // namespace smalti::cpu
