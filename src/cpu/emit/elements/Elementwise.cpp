// What each op computes is in docs/values.md: total where LLVM says poison or undefined.
#include "cpu/emit/elements/Elementwise.h"

#include <cmath>

#include "cpu/emit/elements/NarrowFloats.h"
#include "cpu/emit/elements/Packing.h"
#include "cpu/emit/elements/ReducePrecision.h"
#include "cpu/emit/elements/ToInteger.h"
#include "cpu/math/Math.h"
#include "cpu/math/Nvidia.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/Tolerance.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Intrinsics.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"

namespace smalti::cpu {
namespace {

int widthOf(Reg v) { return static_cast<int>(v->getType()->getScalarSizeInBits()); }
Reg constant(Reg like, int64_t value) { return llvm::ConstantInt::getSigned(like->getType(), value); }
Reg zero(Reg like) { return llvm::Constant::getNullValue(like->getType()); }

// ---- floats: in f32, rounded once

/// Ops that may be fused, such as a product and a sum, say so.
bool mayContract(mlir::Operation& op) {
  auto flags = llvm::dyn_cast<mlir::arith::ArithFastMathInterface>(op);
  return flags &&
         mlir::arith::bitEnumContainsAll(flags.getFastMathFlagsAttr().getValue(), mlir::arith::FastMathFlags::contract);
}

template <Reg (*F)(Builder&, Reg, Reg)>
Reg floatBinary(const ElementOp& e) {
  const llvm::IRBuilderBase::FastMathFlagGuard guard(e.b);
  if (mayContract(e.op)) {
    llvm::FastMathFlags flags;
    flags.setAllowContract();
    e.b.setFastMathFlags(flags);
  }
  return roundTo(e.b, e.out, F(e.b, e.operands[0], e.operands[1]));
}
Reg fadd(Builder& b, Reg x, Reg y) { return b.CreateFAdd(x, y); }
Reg fsub(Builder& b, Reg x, Reg y) { return b.CreateFSub(x, y); }
Reg fmul(Builder& b, Reg x, Reg y) { return b.CreateFMul(x, y); }
/// Division by a power of two: multiplication by the reciprocal, which is exact.
Reg fdiv(Builder& b, Reg x, Reg y) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(y);
  if (constant && y->getType()->isVectorTy()) constant = constant->getSplatValue();
  llvm::APFloat inverse(0.0);
  if (const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
      number && number->getValueAPF().getExactInverse(&inverse))
    return b.CreateFMul(x, llvm::ConstantFP::get(y->getType(), inverse));
  return b.CreateFDiv(x, y);
}

Reg divf(const ElementOp& e) {
  const bool isShort = covers(toleranceOf(e.op), kShortDivisions) && isForNvidia(e.b) &&
                       e.operands[0]->getType()->isFloatTy() && !llvm::isa<llvm::Constant>(e.operands[1]);
  return isShort ? roundTo(e.b, e.out, quotientOfNvidia(e.b, e.operands[0], e.operands[1])) : floatBinary<fdiv>(e);
}

/// C's fmod, exact: multiples of y·2^(28·k) are subtracted, the largest first. In f64 each quotient has less than 29
/// bits, so that its product with y is exact.
Reg remf(const ElementOp& e) {
  constexpr int kBits = 28, kSteps = 10;  // 2^(28·10) is more than the largest quotient of two f32
  Builder& b = e.b;
  Reg x = e.operands[0], y = e.operands[1];
  llvm::Type* type = x->getType();
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  llvm::Type* wide =
      vector ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(b.getDoubleTy(), vector->getNumElements()))
             : b.getDoubleTy();
  const auto size = [&](Reg v) { return b.CreateFPExt(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v), wide); };
  Reg rest = size(x), divisor = size(y);
  for (int k = kSteps; k-- > 0;) {
    Reg part = b.CreateFMul(divisor, llvm::ConstantFP::get(wide, std::ldexp(1.0, kBits * k)));
    Reg quotient = b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, b.CreateFDiv(rest, part));
    Reg less = b.CreateFSub(rest, b.CreateFMul(quotient, part));
    // The quotient may be one too large.
    rest = b.CreateSelect(b.CreateFCmpOLT(less, llvm::ConstantFP::get(wide, 0.0)), b.CreateFAdd(less, part), less);
  }
  Reg isInfinite = b.CreateFCmpOEQ(divisor, llvm::ConstantFP::getInfinity(wide));
  Reg result = b.CreateSelect(b.CreateAnd(isInfinite, b.CreateFCmpORD(x, x)), x, b.CreateFPTrunc(rest, type));
  // The remainder of an infinite x is NaN.
  Reg isEndless =
      b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), llvm::ConstantFP::getInfinity(type));
  result = b.CreateSelect(isEndless, llvm::ConstantFP::getNaN(type), result);
  return roundTo(b, e.out, b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, result, x));
}

/// NaN wins, and +0 > -0.
Reg fmax(Builder& b, Reg x, Reg y) { return b.CreateMaximum(x, y); }
Reg fmin(Builder& b, Reg x, Reg y) { return b.CreateMinimum(x, y); }
/// maxnumf, minnumf: a NaN gives way to the other operand.
Reg fmaxnum(Builder& b, Reg x, Reg y) {
  return b.CreateSelect(b.CreateFCmpUNO(x, x), y, b.CreateSelect(b.CreateFCmpUNO(y, y), x, fmax(b, x, y)));
}
Reg fminnum(Builder& b, Reg x, Reg y) {
  return b.CreateSelect(b.CreateFCmpUNO(x, x), y, b.CreateSelect(b.CreateFCmpUNO(y, y), x, fmin(b, x, y)));
}

/// The result is representable, except for -0 and NaN, which some fp8 formats lack.
Reg exact(const ElementOp& e, Reg r) { return isSmallFloat(e.out) ? roundTo(e.b, e.out, r) : r; }

Reg negf(const ElementOp& e) { return exact(e, e.b.CreateFNeg(e.operands[0])); }

template <llvm::Intrinsic::ID Id>
Reg exactIntrinsic(const ElementOp& e) {
  return exact(e, e.b.CreateUnaryIntrinsic(Id, e.operands[0]));
}
Reg squareRoot(const ElementOp& e) {
  return roundTo(e.b, e.out, e.b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, e.operands[0]));
}
Reg copysign(const ElementOp& e) {
  return exact(e, e.b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, e.operands[0], e.operands[1]));
}

Reg mathFunction(const ElementOp& e) {
  const llvm::StringRef name = e.op.getName().getStringRef();
  return roundTo(e.b, e.out, emitMath(e.b, std::string_view(name.data(), name.size()), e.operands, toleranceOf(e.op)));
}

Reg reciprocal(const ElementOp& e) {
  Reg one = llvm::ConstantFP::get(e.operands[0]->getType(), 1.0);
  if (!boolAttribute(e.op, "approx") || e.out != DType::f32)
    return roundTo(e.b, e.out, e.b.CreateFDiv(one, e.operands[0]));
  return e.b.CreateFDiv(one, roundTo(e.b, DType::bf16, e.operands[0]));
}

/// Compares |x| with infinity. UEQ: infinite or NaN.
template <llvm::CmpInst::Predicate P>
Reg comparedWithInfinity(const ElementOp& e) {
  Reg size = e.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, e.operands[0]);
  return e.b.CreateFCmp(P, size, llvm::ConstantFP::getInfinity(size->getType()));
}

// ---- integers

using IntegerOp = Reg (*)(Builder&, Reg, Reg);
template <IntegerOp F>
Reg integerBinary(const ElementOp& e) {
  return F(e.b, e.operands[0], e.operands[1]);
}
Reg add(Builder& b, Reg x, Reg y) { return b.CreateAdd(x, y); }
Reg sub(Builder& b, Reg x, Reg y) { return b.CreateSub(x, y); }
Reg mul(Builder& b, Reg x, Reg y) { return b.CreateMul(x, y); }
Reg bitAnd(Builder& b, Reg x, Reg y) { return b.CreateAnd(x, y); }
Reg bitOr(Builder& b, Reg x, Reg y) { return b.CreateOr(x, y); }
Reg bitXor(Builder& b, Reg x, Reg y) { return b.CreateXor(x, y); }
template <llvm::Intrinsic::ID Id>
Reg integerIntrinsic(Builder& b, Reg x, Reg y) {
  return b.CreateBinaryIntrinsic(Id, x, y);
}

/// Whether the processor lacks the division: of vectors, by other numbers than constants. Of up to 32 bits it is exact
/// in f64, and truncates exactly: the quotient is at least 1/y from the next integer, and its error below 2^-21/y.
bool dividesInF64(Reg x, Reg y) {
  return x->getType()->isVectorTy() && widthOf(x) <= 32 && !llvm::isa<llvm::Constant>(y);
}
Reg quotientSigned(Builder& b, Reg x, Reg y) {
  if (!dividesInF64(x, y)) return b.CreateSDiv(x, y);
  llvm::Type* wide = x->getType()->getWithNewType(b.getDoubleTy());
  return b.CreateFPToSI(b.CreateFDiv(b.CreateSIToFP(x, wide), b.CreateSIToFP(y, wide)), x->getType());
}
Reg quotientUnsigned(Builder& b, Reg x, Reg y) {
  if (!dividesInF64(x, y)) return b.CreateUDiv(x, y);
  llvm::Type* wide = x->getType()->getWithNewType(b.getDoubleTy());
  return b.CreateFPToUI(b.CreateFDiv(b.CreateUIToFP(x, wide), b.CreateUIToFP(y, wide)), x->getType());
}

/// x / 0 = all ones, MIN / -1 = MIN; x % 0 = x.
Reg divideSigned(Builder& b, Reg x, Reg y, bool remainder) {
  Reg isZero = b.CreateICmpEQ(y, zero(y));
  Reg least = llvm::ConstantInt::get(x->getType(), llvm::APInt::getSignedMinValue(static_cast<unsigned>(widthOf(x))));
  Reg overflows = b.CreateAnd(b.CreateICmpEQ(x, least), b.CreateICmpEQ(y, constant(y, -1)));
  Reg safe = b.CreateSelect(b.CreateOr(isZero, overflows), constant(y, 1), y);
  if (remainder && !dividesInF64(x, safe)) return b.CreateSelect(isZero, x, b.CreateSRem(x, safe));
  Reg quotient = quotientSigned(b, x, safe);
  return remainder ? b.CreateSelect(isZero, x, b.CreateSub(x, b.CreateMul(quotient, safe)))
                   : b.CreateSelect(isZero, constant(x, -1), quotient);
}
Reg divideUnsigned(Builder& b, Reg x, Reg y, bool remainder) {
  Reg isZero = b.CreateICmpEQ(y, zero(y));
  Reg safe = b.CreateSelect(isZero, constant(y, 1), y);
  if (remainder && !dividesInF64(x, safe)) return b.CreateSelect(isZero, x, b.CreateURem(x, safe));
  Reg quotient = quotientUnsigned(b, x, safe);
  return remainder ? b.CreateSelect(isZero, x, b.CreateSub(x, b.CreateMul(quotient, safe)))
                   : b.CreateSelect(isZero, constant(x, -1), quotient);
}
Reg divsi(Builder& b, Reg x, Reg y) { return divideSigned(b, x, y, false); }
Reg remsi(Builder& b, Reg x, Reg y) { return divideSigned(b, x, y, true); }
Reg divui(Builder& b, Reg x, Reg y) { return divideUnsigned(b, x, y, false); }
Reg remui(Builder& b, Reg x, Reg y) { return divideUnsigned(b, x, y, true); }

/// Counts are unsigned; one of the width or more gives 0, or the sign.
Reg shift(Builder& b, Reg x, Reg count, llvm::Instruction::BinaryOps op) {
  const int width = widthOf(x);
  Reg inside = b.CreateICmpULT(count, constant(count, width));
  Reg last = constant(count, width - 1);
  if (op == llvm::Instruction::AShr) return b.CreateAShr(x, b.CreateSelect(inside, count, last));
  return b.CreateSelect(inside, b.CreateBinOp(op, x, b.CreateAnd(count, last)), zero(x));
}
Reg shli(Builder& b, Reg x, Reg n) { return shift(b, x, n, llvm::Instruction::Shl); }
Reg shrsi(Builder& b, Reg x, Reg n) { return shift(b, x, n, llvm::Instruction::AShr); }
Reg shrui(Builder& b, Reg x, Reg n) { return shift(b, x, n, llvm::Instruction::LShr); }

Reg absi(const ElementOp& e) { return e.b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, e.operands[0], e.b.getFalse()); }
template <llvm::Intrinsic::ID Id>
Reg countZeros(const ElementOp& e) {
  return e.b.CreateBinaryIntrinsic(Id, e.operands[0], e.b.getFalse());
}
Reg ctpop(const ElementOp& e) { return e.b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, e.operands[0]); }

// ---- comparisons and choice

using Predicate = llvm::CmpInst::Predicate;
constexpr Predicate kIntegerPredicates[] = {
    Predicate::ICMP_EQ,  Predicate::ICMP_NE,  Predicate::ICMP_SLT, Predicate::ICMP_SLE, Predicate::ICMP_SGT,
    Predicate::ICMP_SGE, Predicate::ICMP_ULT, Predicate::ICMP_ULE, Predicate::ICMP_UGT, Predicate::ICMP_UGE};
// "one" of these modules is JAX's !=, true for NaN (S-E6).
constexpr Predicate kFloatPredicates[] = {
    Predicate::FCMP_FALSE, Predicate::FCMP_OEQ, Predicate::FCMP_OGT, Predicate::FCMP_OGE,
    Predicate::FCMP_OLT,   Predicate::FCMP_OLE, Predicate::FCMP_UNE, Predicate::FCMP_ORD,
    Predicate::FCMP_UEQ,   Predicate::FCMP_UGT, Predicate::FCMP_UGE, Predicate::FCMP_ULT,
    Predicate::FCMP_ULE,   Predicate::FCMP_UNE, Predicate::FCMP_UNO, Predicate::FCMP_TRUE};

size_t predicateOf(mlir::Operation& op) { return static_cast<size_t>(integerAttribute(op, "predicate", -1)); }

Reg cmpi(const ElementOp& e) {
  return e.b.CreateICmp(kIntegerPredicates[predicateOf(e.op)], e.operands[0], e.operands[1]);
}
Reg cmpf(const ElementOp& e) {
  return e.b.CreateFCmp(kFloatPredicates[predicateOf(e.op)], e.operands[0], e.operands[1]);
}
Reg select(const ElementOp& e) { return e.b.CreateSelect(e.operands[0], e.operands[1], e.operands[2]); }

// ---- conversions

llvm::Type* resultType(const ElementOp& e) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(e.operands[0]->getType());
  return registerType(e.b.getContext(), e.out, vector ? static_cast<int>(vector->getNumElements()) : 1);
}

Reg extf(const ElementOp& e) { return exact(e, e.operands[0]); }
Reg truncf(const ElementOp& e) { return roundTo(e.b, e.out, e.operands[0]); }
Reg extsi(const ElementOp& e) { return e.b.CreateSExt(e.operands[0], resultType(e)); }
Reg extui(const ElementOp& e) { return e.b.CreateZExt(e.operands[0], resultType(e)); }
Reg trunci(const ElementOp& e) { return e.b.CreateTrunc(e.operands[0], resultType(e)); }
Reg sitofp(const ElementOp& e) { return roundTo(e.b, e.out, e.b.CreateSIToFP(e.operands[0], resultType(e))); }
Reg uitofp(const ElementOp& e) { return roundTo(e.b, e.out, e.b.CreateUIToFP(e.operands[0], resultType(e))); }
template <bool kSigned>
Reg toInteger(const ElementOp& e) {
  return toIntegers(e.b, e.operands[0], resultType(e), kSigned);
}
Reg indexCast(const ElementOp& e) { return e.b.CreateSExtOrTrunc(e.operands[0], resultType(e)); }
Reg indexCastUnsigned(const ElementOp& e) { return e.b.CreateZExtOrTrunc(e.operands[0], resultType(e)); }
Reg bitcast(const ElementOp& e) {
  Reg stored = toStorage(e.b, e.in, e.operands[0]);
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(stored->getType());
  llvm::Type* element = storageType(e.b.getContext(), e.out);
  llvm::Type* type = vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
  return fromStorage(e.b, e.out, e.b.CreateBitCast(stored, type));
}
Reg same(const ElementOp& e) { return e.operands[0]; }

/// The ops of the table of ops/ElementwiseOps.cpp, apart from those of the math dialect that src/cpu/math
/// computes.
const llvm::StringMap<EmitElement>& table() {
  using namespace llvm;
  static const auto& kTable = *new StringMap<EmitElement>{
      {"arith.addf", floatBinary<fadd>},
      {"arith.subf", floatBinary<fsub>},
      {"arith.mulf", floatBinary<fmul>},
      {"arith.divf", divf},
      {"arith.remf", remf},
      {"arith.maximumf", floatBinary<fmax>},
      {"arith.minimumf", floatBinary<fmin>},
      {"arith.maxnumf", floatBinary<fmaxnum>},
      {"arith.minnumf", floatBinary<fminnum>},
      {"arith.negf", negf},
      {"arith.addi", integerBinary<add>},
      {"arith.subi", integerBinary<sub>},
      {"arith.muli", integerBinary<mul>},
      {"arith.divsi", integerBinary<divsi>},
      {"arith.divui", integerBinary<divui>},
      {"arith.remsi", integerBinary<remsi>},
      {"arith.remui", integerBinary<remui>},
      {"arith.andi", integerBinary<bitAnd>},
      {"arith.ori", integerBinary<bitOr>},
      {"arith.xori", integerBinary<bitXor>},
      {"arith.shli", integerBinary<shli>},
      {"arith.shrsi", integerBinary<shrsi>},
      {"arith.shrui", integerBinary<shrui>},
      {"arith.maxsi", integerBinary<integerIntrinsic<Intrinsic::smax>>},
      {"arith.minsi", integerBinary<integerIntrinsic<Intrinsic::smin>>},
      {"arith.maxui", integerBinary<integerIntrinsic<Intrinsic::umax>>},
      {"arith.minui", integerBinary<integerIntrinsic<Intrinsic::umin>>},
      {"arith.cmpi", cmpi},
      {"arith.cmpf", cmpf},
      {"arith.select", select},
      {"arith.extf", extf},
      {"arith.truncf", truncf},
      {"arith.extsi", extsi},
      {"arith.extui", extui},
      {"arith.trunci", trunci},
      {"arith.sitofp", sitofp},
      {"arith.uitofp", uitofp},
      {"arith.fptosi", toInteger<true>},
      {"arith.fptoui", toInteger<false>},
      {"arith.index_cast", indexCast},
      {"arith.index_castui", indexCastUnsigned},
      {"arith.bitcast", bitcast},
      {"math.absf", exactIntrinsic<Intrinsic::fabs>},
      {"math.ceil", exactIntrinsic<Intrinsic::ceil>},
      {"math.floor", exactIntrinsic<Intrinsic::floor>},
      {"math.trunc", exactIntrinsic<Intrinsic::trunc>},
      {"math.round", exactIntrinsic<Intrinsic::round>},
      {"math.roundeven", exactIntrinsic<Intrinsic::roundeven>},
      {"math.sqrt", squareRoot},
      {"math.copysign", copysign},
      {"math.absi", absi},
      {"math.ctlz", countZeros<Intrinsic::ctlz>},
      {"math.cttz", countZeros<Intrinsic::cttz>},
      {"math.ctpop", ctpop},
      {"tpu.bitcast", bitcast},
      {"tpu.pack_elementwise", packElements},
      {"tpu.stochastic_convert", convertStochastically},
      {"tpu.unpack_elementwise", unpackElements},
      {"tpu.reciprocal", reciprocal},
      {"tpu.reduce_precision", reducePrecision},
      {"math.isfinite", comparedWithInfinity<llvm::CmpInst::FCMP_ONE>},
      {"math.isinf", comparedWithInfinity<llvm::CmpInst::FCMP_OEQ>},
      {"math.isnan", comparedWithInfinity<llvm::CmpInst::FCMP_UNO>},
      {"tpu.weird", comparedWithInfinity<llvm::CmpInst::FCMP_UEQ>},
      {"tpu.assume_multiple", same},
  };
  return kTable;
}

}  // namespace

EmitElement elementwiseEmitter(llvm::StringRef name) {
  const auto found = table().find(name);
  if (found != table().end()) return found->second;
  return hasMath(std::string_view(name.data(), name.size())) ? mathFunction : nullptr;
}

EmitElement findElementwise(mlir::Operation& op) {
  return isNativeElementwise(op) ? elementwiseEmitter(op.getName().getStringRef()) : nullptr;
}

}  // namespace smalti::cpu
