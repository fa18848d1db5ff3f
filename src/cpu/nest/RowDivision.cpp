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
  Reg first = b.CreateFMul(x, inverse);
  Reg rest = fma(b, first, divisor, b.CreateFNeg(x));  // exact; +0 if there is no remainder
  // An infinite quotient, whose remainder is NaN or infinite, is not changed by a finite correction.
  Reg most = llvm::ConstantFP::get(x->getType(), 0x1.fffffep127);
  rest = b.CreateMaxNum(b.CreateMinNum(rest, most), b.CreateFNeg(most));
  return fma(b, b.CreateFNeg(rest), inverse, first);  // a zero less +0 keeps its sign
}

}  // namespace smalti::cpu
