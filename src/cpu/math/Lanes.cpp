#include "cpu/math/Lanes.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace smalti::cpu {
namespace {

Lanes unary(llvm::Intrinsic::ID id, Lanes x) { return {x.code(), x.code().CreateUnaryIntrinsic(id, x.value())}; }

/// The type with as many lanes of another element type.
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

constexpr unsigned kWide = 16;  // lanes of one instruction

/// 0 of a scalar.
unsigned countOf(llvm::Value* v) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return vector ? vector->getNumElements() : 0;
}

llvm::SmallVector<int, 64> lanesFrom(unsigned first, unsigned count) {
  llvm::SmallVector<int, 64> lanes;
  for (unsigned i = first; i < first + count; ++i) lanes.push_back(static_cast<int>(i));
  return lanes;
}

/// Sixteen lanes of v from `first` on, then zeros.
Lanes part(Lanes x, unsigned first) {
  llvm::IRBuilderBase& code = x.code();
  const unsigned count = countOf(x.value());
  if (count == kWide) return x;
  if (count == 0) {
    llvm::Value* zeros = llvm::Constant::getNullValue(llvm::FixedVectorType::get(x.type(), kWide));
    return {code, code.CreateInsertElement(zeros, x.value(), uint64_t{0})};
  }
  llvm::SmallVector<int, 64> lanes = lanesFrom(first, kWide);
  for (int& lane : lanes) lane = std::min(lane, static_cast<int>(count));
  return {code, code.CreateShuffleVector(x.value(), llvm::Constant::getNullValue(x.type()), lanes)};
}

/// The parts one after another, of which there are a power of two.
llvm::Value* concatenated(llvm::IRBuilderBase& code, llvm::ArrayRef<llvm::Value*> parts) {
  if (parts.size() == 1) return parts[0];
  llvm::Value *low = concatenated(code, parts.take_front(parts.size() / 2)),
              *high = concatenated(code, parts.drop_front(parts.size() / 2));
  return code.CreateShuffleVector(low, high, lanesFrom(0, 2 * countOf(low)));
}

}  // namespace

bool hasWideLanes(Lanes like) {
  const llvm::Function* f = like.code().GetInsertBlock()->getParent();
  return f->getFnAttribute("target-features").getValueAsString().contains("+avx512f,");
}

Lanes bySixteen(llvm::ArrayRef<Lanes> operands, llvm::function_ref<Lanes(llvm::ArrayRef<Lanes>)> f) {
  llvm::IRBuilderBase& code = operands[0].code();
  const unsigned count = countOf(operands[0].value());
  llvm::SmallVector<llvm::Value*, 4> results;
  for (unsigned i = 0; i < std::max(count, 1u); i += kWide) {
    llvm::SmallVector<Lanes, 2> parts;
    for (const Lanes x : operands) parts.push_back(part(x, i));
    results.push_back(f(parts).value());
  }
  if (count == 0) return {code, code.CreateExtractElement(results[0], uint64_t{0})};
  results.resize(llvm::PowerOf2Ceil(results.size()), llvm::PoisonValue::get(results[0]->getType()));
  llvm::Value* all = concatenated(code, results);
  return {code, countOf(all) == count ? all : code.CreateShuffleVector(all, lanesFrom(0, count))};
}

Lanes scaledByPower(Lanes x, Lanes n, Mask isZero) {
  constexpr int kCurrentRounding = 4;
  llvm::IRBuilderBase& code = x.code();
  const Lanes zero = x.constant(0);
  const Lanes scaled{code, code.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                                                {x.value(), n.value(), zero.value(), code.getInt16(0xffff),
                                                 code.getInt32(kCurrentRounding)})};
  const Mask isComputed{code, code.CreateNot(isZero.value())};
  return select(isComputed, scaled, zero);  // one instruction, whose mask stays in a mask register
}

}  // namespace smalti::cpu
