#include "cpu/emit/elements/ToInteger.h"

#include <cmath>

namespace smalti::cpu {

Reg toIntegers(Builder& b, Reg floats, llvm::Type* integers, bool isSigned) {
  constexpr int kWidest = 32, kDigits = 24;  // of an f32
  const auto width = static_cast<int>(integers->getScalarSizeInBits());
  // LLVM computes its own intrinsic element by element where a vector of integers is not as wide as that of the floats.
  if (!integers->isVectorTy() || width > kWidest)
    return b.CreateIntrinsic(integers, isSigned ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat, {floats});
  const int bits = isSigned ? width - 1 : width;  // of the largest
  const double end = std::ldexp(1.0, bits), least = isSigned ? -end : 0;
  const double most = end - std::ldexp(1.0, std::max(bits - kDigits, 0));  // the largest that is a float
  const auto number = [&](double x) { return llvm::ConstantFP::get(floats->getType(), x); };
  Reg x = b.CreateSelect(b.CreateFCmpOGT(floats, number(least)), floats, number(least));
  x = b.CreateSelect(b.CreateFCmpOLT(x, number(most)), x, number(most));
  auto* wide = llvm::VectorType::get(b.getInt32Ty(), llvm::cast<llvm::VectorType>(integers)->getElementCount());
  Reg result = isSigned || bits < kWidest ? b.CreateFPToSI(x, wide) : b.CreateFPToUI(x, wide);
  if (bits > kDigits) {
    auto* largest = llvm::ConstantInt::get(wide, llvm::APInt::getLowBitsSet(kWidest, static_cast<unsigned>(bits)));
    result = b.CreateSelect(b.CreateFCmpOGE(floats, number(end)), largest, result);
  }
  if (isSigned)  // else NaN gives the least, which is 0
    result = b.CreateSelect(b.CreateFCmpUNO(floats, floats), llvm::Constant::getNullValue(wide), result);
  return b.CreateTrunc(result, integers);
}

}  // namespace smalti::cpu
