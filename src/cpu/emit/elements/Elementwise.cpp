// What each op computes is in docs/values.md: total where LLVM says poison or undefined.
#include "cpu/emit/elements/Elementwise.h"

#include <cmath>

#include "cpu/emit/elements/NarrowFloats.h"
#include "cpu/emit/elements/Packing.h"
#include "cpu/emit/elements/ReducePrecision.h"
#include "cpu/emit/elements/ToInteger.h"
#include "cpu/math/Math.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/BuiltinTypes.h"

namespace smalti::cpu {
namespace {

bool isFloat(DType t) { return isRegisterFloat(t); }
bool isInteger(DType t) { return computesNatively(t) && !isFloat(t) && t != DType::pred; }
int widthOf(Reg v) { return static_cast<int>(v->getType()->getScalarSizeInBits()); }
Reg constant(Reg like, int64_t value) { return llvm::ConstantInt::getSigned(like->getType(), value); }
Reg zero(Reg like) { return llvm::Constant::getNullValue(like->getType()); }

// ---- floats: in f32, rounded once

template <Reg (*F)(Builder&, Reg, Reg)>
Reg floatBinary(const ElementOp& e) {
  if (!isFloat(e.in)) return nullptr;
  return roundTo(e.b, e.out, F(e.b, e.operands[0], e.operands[1]));
}
Reg fadd(Builder& b, Reg x, Reg y) { return b.CreateFAdd(x, y); }
Reg fsub(Builder& b, Reg x, Reg y) { return b.CreateFSub(x, y); }
Reg fmul(Builder& b, Reg x, Reg y) { return b.CreateFMul(x, y); }
Reg fdiv(Builder& b, Reg x, Reg y) { return b.CreateFDiv(x, y); }

/// C's fmod, exact: multiples of y·2^(28·k) are taken away, the largest first. In f64 each quotient has less than 29
/// bits, so that its product with y is exact.
Reg remf(const ElementOp& e) {
  if (!isFloat(e.in)) return nullptr;
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
    // The quotient may have been rounded up.
    rest = b.CreateSelect(b.CreateFCmpOLT(less, llvm::ConstantFP::get(wide, 0.0)), b.CreateFAdd(less, part), less);
  }
  Reg endless = b.CreateFCmpOEQ(divisor, llvm::ConstantFP::getInfinity(wide));
  Reg result = b.CreateSelect(b.CreateAnd(endless, b.CreateFCmpORD(x, x)), x, b.CreateFPTrunc(rest, type));
  // An infinite x has no rest.
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

/// Of a number that the dtype has, but for -0 and NaN, which not every float of a byte knows.
Reg exact(const ElementOp& e, Reg r) { return isByteFloat(e.out) ? roundTo(e.b, e.out, r) : r; }

Reg negf(const ElementOp& e) { return isFloat(e.in) ? exact(e, e.b.CreateFNeg(e.operands[0])) : nullptr; }

template <llvm::Intrinsic::ID Id>
Reg exactIntrinsic(const ElementOp& e) {
  return isFloat(e.in) ? exact(e, e.b.CreateUnaryIntrinsic(Id, e.operands[0])) : nullptr;
}
Reg squareRoot(const ElementOp& e) {
  return isFloat(e.in) ? roundTo(e.b, e.out, e.b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, e.operands[0])) : nullptr;
}
Reg copysign(const ElementOp& e) {
  if (!isFloat(e.in)) return nullptr;
  return exact(e, e.b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, e.operands[0], e.operands[1]));
}

Reg mathFunction(const ElementOp& e) {
  if (!isFloat(e.in) || !isFloat(e.out)) return nullptr;
  const llvm::StringRef name = e.op.getName().getStringRef();
  Reg result = emitMath(e.b, std::string_view(name.data(), name.size()), e.operands);
  return result ? roundTo(e.b, e.out, result) : nullptr;
}

Reg reciprocal(const ElementOp& e) {
  if (!isFloat(e.in)) return nullptr;
  Reg one = llvm::ConstantFP::get(e.operands[0]->getType(), 1.0);
  if (!boolAttribute(e.op, "approx") || e.out != DType::f32)
    return roundTo(e.b, e.out, e.b.CreateFDiv(one, e.operands[0]));
  return e.b.CreateFDiv(one, roundTo(e.b, DType::bf16, e.operands[0]));
}

/// How |x| compares with infinity. UEQ: infinite or NaN.
template <llvm::CmpInst::Predicate P>
Reg besideInfinity(const ElementOp& e) {
  if (!isFloat(e.in)) return nullptr;
  Reg size = e.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, e.operands[0]);
  return e.b.CreateFCmp(P, size, llvm::ConstantFP::getInfinity(size->getType()));
}

// ---- integers

using IntegerOp = Reg (*)(Builder&, Reg, Reg);
template <IntegerOp F>
Reg integerBinary(const ElementOp& e) {
  return isInteger(e.in) ? F(e.b, e.operands[0], e.operands[1]) : nullptr;
}
template <IntegerOp F>
Reg logical(const ElementOp& e) {
  return isInteger(e.in) || e.in == DType::pred ? F(e.b, e.operands[0], e.operands[1]) : nullptr;
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

/// x / 0 = all ones, MIN / -1 = MIN; x % 0 = x.
Reg divideSigned(Builder& b, Reg x, Reg y, bool remainder) {
  Reg isZero = b.CreateICmpEQ(y, zero(y));
  Reg least = llvm::ConstantInt::get(x->getType(), llvm::APInt::getSignedMinValue(static_cast<unsigned>(widthOf(x))));
  Reg overflows = b.CreateAnd(b.CreateICmpEQ(x, least), b.CreateICmpEQ(y, constant(y, -1)));
  Reg safe = b.CreateSelect(b.CreateOr(isZero, overflows), constant(y, 1), y);
  return remainder ? b.CreateSelect(isZero, x, b.CreateSRem(x, safe))
                   : b.CreateSelect(isZero, constant(x, -1), b.CreateSDiv(x, safe));
}
Reg divideUnsigned(Builder& b, Reg x, Reg y, bool remainder) {
  Reg isZero = b.CreateICmpEQ(y, zero(y));
  Reg safe = b.CreateSelect(isZero, constant(y, 1), y);
  return remainder ? b.CreateSelect(isZero, x, b.CreateURem(x, safe))
                   : b.CreateSelect(isZero, constant(x, -1), b.CreateUDiv(x, safe));
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

Reg absi(const ElementOp& e) {
  return isInteger(e.in) ? e.b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, e.operands[0], e.b.getFalse()) : nullptr;
}
template <llvm::Intrinsic::ID Id>
Reg countZeros(const ElementOp& e) {
  return isInteger(e.in) ? e.b.CreateBinaryIntrinsic(Id, e.operands[0], e.b.getFalse()) : nullptr;
}
Reg ctpop(const ElementOp& e) {
  return isInteger(e.in) ? e.b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, e.operands[0]) : nullptr;
}

// ---- comparisons and choice

Reg cmpi(const ElementOp& e) {
  if (!isInteger(e.in) && e.in != DType::pred) return nullptr;
  using P = llvm::CmpInst::Predicate;
  static constexpr P kPredicates[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT,
                                      P::ICMP_SGE, P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  const auto p = static_cast<size_t>(integerAttribute(e.op, "predicate", -1));
  if (p >= std::size(kPredicates)) return nullptr;
  if (e.in == DType::pred && p >= 2) return nullptr;
  return e.b.CreateICmp(kPredicates[p], e.operands[0], e.operands[1]);
}

Reg cmpf(const ElementOp& e) {
  if (!isFloat(e.in)) return nullptr;
  using P = llvm::CmpInst::Predicate;
  // "one" of these modules is JAX's !=, true for NaN (S-E6).
  static constexpr P kPredicates[] = {P::FCMP_FALSE, P::FCMP_OEQ, P::FCMP_OGT, P::FCMP_OGE, P::FCMP_OLT, P::FCMP_OLE,
                                      P::FCMP_UNE,   P::FCMP_ORD, P::FCMP_UEQ, P::FCMP_UGT, P::FCMP_UGE, P::FCMP_ULT,
                                      P::FCMP_ULE,   P::FCMP_UNE, P::FCMP_UNO, P::FCMP_TRUE};
  const auto p = static_cast<size_t>(integerAttribute(e.op, "predicate", -1));
  return p < std::size(kPredicates) ? e.b.CreateFCmp(kPredicates[p], e.operands[0], e.operands[1]) : nullptr;
}

Reg select(const ElementOp& e) {
  if (!computesNatively(e.out)) return nullptr;
  return e.b.CreateSelect(e.operands[0], e.operands[1], e.operands[2]);
}

// ---- conversions

llvm::Type* resultType(const ElementOp& e) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(e.operands[0]->getType());
  return registerType(e.b.getContext(), e.out, vector ? static_cast<int>(vector->getNumElements()) : 1);
}

Reg extf(const ElementOp& e) { return isFloat(e.in) && isFloat(e.out) ? exact(e, e.operands[0]) : nullptr; }
Reg truncf(const ElementOp& e) {
  return isFloat(e.in) && isFloat(e.out) ? roundTo(e.b, e.out, e.operands[0]) : nullptr;
}
Reg extsi(const ElementOp& e) {
  return (isInteger(e.in) || e.in == DType::pred) && isInteger(e.out) ? e.b.CreateSExt(e.operands[0], resultType(e))
                                                                      : nullptr;
}
Reg extui(const ElementOp& e) {
  const bool from = isInteger(e.in) || e.in == DType::pred;
  return from && isInteger(e.out) ? e.b.CreateZExt(e.operands[0], resultType(e)) : nullptr;
}
Reg trunci(const ElementOp& e) {
  return isInteger(e.in) && (isInteger(e.out) || e.out == DType::pred) ? e.b.CreateTrunc(e.operands[0], resultType(e))
                                                                       : nullptr;
}
Reg sitofp(const ElementOp& e) {
  if (!(isInteger(e.in) || e.in == DType::pred) || !isFloat(e.out)) return nullptr;
  return roundTo(e.b, e.out, e.b.CreateSIToFP(e.operands[0], resultType(e)));
}
Reg uitofp(const ElementOp& e) {
  if (!(isInteger(e.in) || e.in == DType::pred) || !isFloat(e.out)) return nullptr;
  return roundTo(e.b, e.out, e.b.CreateUIToFP(e.operands[0], resultType(e)));
}
template <bool kSigned>
Reg toInteger(const ElementOp& e) {
  return isFloat(e.in) && isInteger(e.out) ? toIntegers(e.b, e.operands[0], resultType(e), kSigned) : nullptr;
}
Reg indexCast(const ElementOp& e) {
  return isInteger(e.in) && isInteger(e.out) ? e.b.CreateSExtOrTrunc(e.operands[0], resultType(e)) : nullptr;
}
Reg indexCastUnsigned(const ElementOp& e) {
  return isInteger(e.in) && isInteger(e.out) ? e.b.CreateZExtOrTrunc(e.operands[0], resultType(e)) : nullptr;
}
/// Between dtypes of one width.
Reg bitcast(const ElementOp& e) {
  if (bit_width(e.in) != bit_width(e.out) || e.in == DType::pred) return nullptr;
  Reg stored = toStorage(e.b, e.in, e.operands[0]);
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(stored->getType());
  llvm::Type* element = storageType(e.b.getContext(), e.out);
  llvm::Type* type = vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
  return fromStorage(e.b, e.out, e.b.CreateBitCast(stored, type));
}
Reg same(const ElementOp& e) { return e.operands[0]; }

const llvm::StringMap<EmitElement>& table() {
  using namespace llvm;
  static const StringMap<EmitElement> kTable{
      {"arith.addf", floatBinary<fadd>},
      {"arith.subf", floatBinary<fsub>},
      {"arith.mulf", floatBinary<fmul>},
      {"arith.divf", floatBinary<fdiv>},
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
      {"arith.andi", logical<bitAnd>},
      {"arith.ori", logical<bitOr>},
      {"arith.xori", logical<bitXor>},
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
      {"math.isfinite", besideInfinity<llvm::CmpInst::FCMP_ONE>},
      {"math.isinf", besideInfinity<llvm::CmpInst::FCMP_OEQ>},
      {"math.isnan", besideInfinity<llvm::CmpInst::FCMP_UNO>},
      {"tpu.weird", besideInfinity<llvm::CmpInst::FCMP_UEQ>},
      {"tpu.assume_multiple", same},
  };
  return kTable;
}

/// A function that is thrown away.
struct Probe {
  llvm::LLVMContext context;
  llvm::Module module{"probe", context};
  llvm::Function* function = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), false),
                                                    llvm::Function::ExternalLinkage, "probe", module);
  Builder builder{context};
  void begin() { builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", function)); }
  void end() { function->deleteBody(); }
};

}  // namespace

EmitElement findElementwise(mlir::Operation& op) {
  const auto found = table().find(op.getName().getStringRef());
  if (found != table().end()) return found->second;
  return op.getName().getDialectNamespace() == "math" ? &mathFunction : nullptr;
}

bool isNativeElementwise(mlir::Operation& op) {
  const EmitElement emit = findElementwise(op);
  if (!emit || op.getNumResults() != 1 || op.getNumRegions() != 0) return false;
  for (mlir::Value v : op.getOperands())
    if (llvm::isa<mlir::MemRefType>(v.getType()) || !computesNatively(elementDType(v.getType()))) return false;
  const DType out = elementDType(op.getResult(0).getType());
  if (!computesNatively(out)) return false;
  // Tried on nothing, in a module of its own: the emitters themselves say which dtypes they know.
  thread_local Probe probe;
  probe.begin();
  std::vector<Reg> operands;
  for (mlir::Value v : op.getOperands()) {
    operands.push_back(llvm::PoisonValue::get(registerType(probe.context, elementDType(v.getType()), 1)));
  }
  const bool native = emit({probe.builder, op, operands, elementDType(op.getOperand(0).getType()), out}) != nullptr;
  probe.end();
  return native;
}

}  // namespace smalti::cpu
