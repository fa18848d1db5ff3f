#include "cpu/math/Lanes.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace smalti::cpu {
namespace {

Lanes unary(llvm::Intrinsic::ID id, Lanes x) { return {x.code(), x.code().CreateUnaryIntrinsic(id, x.value())}; }

/// Of the same number of lanes.
llvm::Type* withElement(llvm::Type* type, llvm::Type* element) {
  if (auto* vector = llvm::dyn_cast<llvm::VectorType>(type))
    return llvm::VectorType::get(element, vector->getElementCount());
  return element;
}

Mask compare(llvm::CmpInst::Predicate ofFloats, llvm::CmpInst::Predicate ofIntegers, Lanes a, Lanes b) {
  return {a.code(), a.isFloat() ? a.code().CreateFCmp(ofFloats, a.value(), b.value())
                                : a.code().CreateICmp(ofIntegers, a.value(), b.value())};
}

}  // namespace

#define SMALTI_ARITHMETIC(op, Name)                                                                                    \
  Lanes operator op(Lanes a, Lanes b) {                                                                                \
    return {a.code(),                                                                                                  \
            a.isFloat() ? a.code().CreateF##Name(a.value(), b.value()) : a.code().Create##Name(a.value(), b.value())}; \
  }
SMALTI_ARITHMETIC(+, Add)
SMALTI_ARITHMETIC(-, Sub)
SMALTI_ARITHMETIC(*, Mul)
#undef SMALTI_ARITHMETIC

Lanes operator/(Lanes a, Lanes b) { return {a.code(), a.code().CreateFDiv(a.value(), b.value())}; }
Lanes operator-(Lanes a) {
  return {a.code(), a.isFloat() ? a.code().CreateFNeg(a.value()) : a.code().CreateNeg(a.value())};
}
Lanes operator&(Lanes a, Lanes b) { return {a.code(), a.code().CreateAnd(a.value(), b.value())}; }
Lanes operator^(Lanes a, Lanes b) { return {a.code(), a.code().CreateXor(a.value(), b.value())}; }
Lanes operator<<(Lanes a, int count) { return {a.code(), a.code().CreateShl(a.value(), a.constant(count).value())}; }
Lanes operator>>(Lanes a, int count) { return {a.code(), a.code().CreateAShr(a.value(), a.constant(count).value())}; }
Lanes shiftedRightUnsigned(Lanes a, int count) {
  return {a.code(), a.code().CreateLShr(a.value(), a.constant(count).value())};
}

Mask operator<(Lanes a, Lanes b) { return compare(llvm::CmpInst::FCMP_OLT, llvm::CmpInst::ICMP_SLT, a, b); }
Mask operator>(Lanes a, Lanes b) { return compare(llvm::CmpInst::FCMP_OGT, llvm::CmpInst::ICMP_SGT, a, b); }
Mask operator<=(Lanes a, Lanes b) { return compare(llvm::CmpInst::FCMP_OLE, llvm::CmpInst::ICMP_SLE, a, b); }
Mask operator>=(Lanes a, Lanes b) { return compare(llvm::CmpInst::FCMP_OGE, llvm::CmpInst::ICMP_SGE, a, b); }
Mask operator==(Lanes a, Lanes b) { return compare(llvm::CmpInst::FCMP_OEQ, llvm::CmpInst::ICMP_EQ, a, b); }
Mask operator!=(Lanes a, Lanes b) { return compare(llvm::CmpInst::FCMP_UNE, llvm::CmpInst::ICMP_NE, a, b); }
Mask operator&(Mask a, Mask b) { return {a.code(), a.code().CreateAnd(a.value(), b.value())}; }
Mask operator|(Mask a, Mask b) { return {a.code(), a.code().CreateOr(a.value(), b.value())}; }
Mask isNan(Lanes x) { return {x.code(), x.code().CreateFCmpUNO(x.value(), x.value())}; }

Lanes select(Mask c, Lanes a, Lanes b) { return {a.code(), a.code().CreateSelect(c.value(), a.value(), b.value())}; }

Lanes fma(Lanes a, Lanes b, Lanes c) {
  return {a.code(), a.code().CreateIntrinsic(a.type(), llvm::Intrinsic::fma, {a.value(), b.value(), c.value()})};
}

Lanes magnitude(Lanes x) { return unary(llvm::Intrinsic::fabs, x); }
Lanes withSign(Lanes magnitude, Lanes sign) {
  return {sign.code(), sign.code().CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude.value(), sign.value())};
}
Lanes squareRoot(Lanes x) { return unary(llvm::Intrinsic::sqrt, x); }
Lanes truncated(Lanes x) { return unary(llvm::Intrinsic::trunc, x); }
Lanes roundedToEven(Lanes x) { return unary(llvm::Intrinsic::roundeven, x); }
Lanes atMost(Lanes x, double bound) { return select(bound < x, bound, x); }
Lanes atLeast(Lanes x, double bound) { return select(bound > x, bound, x); }

Lanes bitsOf(Lanes x) {
  const unsigned width = x.type()->getScalarSizeInBits();
  return {x.code(), x.code().CreateBitCast(x.value(), withElement(x.type(), x.code().getIntNTy(width)))};
}
Lanes floatOf(Lanes bits) {
  const bool isWide = bits.type()->getScalarSizeInBits() == 64;
  llvm::Type* element = isWide ? bits.code().getDoubleTy() : bits.code().getFloatTy();
  return {bits.code(), bits.code().CreateBitCast(bits.value(), withElement(bits.type(), element))};
}
Lanes toFloat(Lanes x) {
  return {x.code(), x.code().CreateSIToFP(x.value(), withElement(x.type(), x.code().getFloatTy()))};
}
Lanes toInteger(Lanes x) {
  return {x.code(), x.code().CreateFPToSI(x.value(), withElement(x.type(), x.code().getInt32Ty()))};
}
Lanes widened(Lanes x) {
  return {x.code(), x.code().CreateFPExt(x.value(), withElement(x.type(), x.code().getDoubleTy()))};
}
Lanes narrowed(Lanes x) {
  return {x.code(), x.code().CreateFPTrunc(x.value(), withElement(x.type(), x.code().getFloatTy()))};
}

namespace {

constexpr unsigned kScaledLanes = 16;  // of one instruction

llvm::Value* lanesFrom(llvm::IRBuilderBase& code, llvm::Value* v, unsigned first) {
  llvm::SmallVector<int, kScaledLanes> lanes;
  for (unsigned i = 0; i < kScaledLanes; ++i) lanes.push_back(static_cast<int>(first + i));
  return code.CreateShuffleVector(v, lanes);
}

llvm::Value* joined(llvm::IRBuilderBase& code, llvm::ArrayRef<llvm::Value*> parts) {
  if (parts.size() == 1) return parts[0];
  llvm::SmallVector<llvm::Value*, 4> pairs;
  llvm::SmallVector<int, 64> all;
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(parts[0]->getType())->getNumElements();
  for (unsigned i = 0; i < 2 * lanes; ++i) all.push_back(static_cast<int>(i));
  for (size_t i = 0; i < parts.size(); i += 2) pairs.push_back(code.CreateShuffleVector(parts[i], parts[i + 1], all));
  return joined(code, pairs);
}

}  // namespace

bool scalesAtOnce(Lanes x) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x.type());
  if (!vector || vector->getNumElements() < kScaledLanes || !llvm::isPowerOf2_32(vector->getNumElements()))
    return false;
  const llvm::Function* f = x.code().GetInsertBlock()->getParent();
  return f->getFnAttribute("target-features").getValueAsString().contains("+avx512f,");
}

Lanes scaledByPower(Lanes x, Lanes n) {
  llvm::IRBuilderBase& code = x.code();
  constexpr int kCurrentRounding = 4;
  llvm::SmallVector<llvm::Value*, 4> parts;
  for (unsigned i = 0; i < llvm::cast<llvm::FixedVectorType>(x.type())->getNumElements(); i += kScaledLanes) {
    llvm::Value *part = lanesFrom(code, x.value(), i), *power = lanesFrom(code, n.value(), i);
    parts.push_back(code.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                                         {part, power, part, code.getInt16(0xffff), code.getInt32(kCurrentRounding)}));
  }
  return {code, joined(code, parts)};
}

}  // namespace smalti::cpu
