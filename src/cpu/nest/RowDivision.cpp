#include "cpu/nest/RowDivision.h"

#include "llvm/IR/Intrinsics.h"

namespace smalti::cpu {
namespace {

Reg fma(Builder& b, Reg x, Reg y, Reg z) { return b.CreateIntrinsic(x->getType(), llvm::Intrinsic::fma, {x, y, z}); }

}  // namespace

Reg emitIsReciprocalAccurate(Builder& b, Reg divisor) {
  return b.CreateAnd(b.CreateFCmpOGT(divisor, llvm::ConstantFP::get(divisor->getType(), 0x1p-125)),
                     b.CreateFCmpOLT(divisor, llvm::ConstantFP::get(divisor->getType(), 0x1p125)));
}

Reg quotientByInverse(Builder& b, Reg x, Reg divisor, Reg inverse) {
  // The product may overflow although the quotient rounds to the largest number: the remainder then decides. That of an
  // infinite or NaN dividend is infinite or NaN.
  Reg most = llvm::ConstantFP::get(x->getType(), 0x1.fffffep127);
  Reg first = b.CreateMaxNum(b.CreateMinNum(b.CreateFMul(x, inverse), most), b.CreateFNeg(most));
  Reg rest = fma(b, first, divisor, b.CreateFNeg(x));  // exact; +0 if there is no remainder
  return fma(b, b.CreateFNeg(rest), inverse, first);   // a zero less +0 keeps its sign
}

}  // namespace smalti::cpu
