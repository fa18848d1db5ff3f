#include "cpu/emit/elements/ReducePrecision.h"

#include "ir/facts/Attributes.h"

namespace smalti::cpu {

Reg reducePrecision(const ElementOp& e) {
  constexpr int kExponentBits = 8, kMantissaBits = 23, kBias = 127;  // bf16 is f32 in registers
  const auto exponentBits = static_cast<int>(integerAttribute(e.op, "exponent_bits", 0));
  const auto mantissaBits = static_cast<int>(integerAttribute(e.op, "mantissa_bits", 0));
  auto& b = e.b;
  Reg value = e.operands[0];
  llvm::Type* words = value->getType()->getWithNewType(b.getInt32Ty());
  const auto word = [&](uint32_t v) { return llvm::ConstantInt::get(words, v); };
  Reg bits = b.CreateBitCast(value, words), rounded = bits;
  if (const int dropped = kMantissaBits - mantissaBits; dropped > 0) {
    const uint32_t unit = uint32_t{1} << dropped;
    Reg odd = b.CreateAnd(b.CreateLShr(bits, word(static_cast<uint32_t>(dropped))), word(1));
    rounded = b.CreateAnd(b.CreateAdd(b.CreateAdd(bits, word(unit / 2 - 1)), odd), word(~(unit - 1)));
  }
  if (exponentBits < kExponentBits) {
    const uint32_t sign = 0x80000000, infinity = 0x7f800000;
    const auto narrowBias = static_cast<uint32_t>((1 << (exponentBits - 1)) - 1);
    Reg exponent = b.CreateAnd(rounded, word(infinity)), negative = b.CreateAnd(bits, word(sign));
    Reg overflows = b.CreateICmpUGT(exponent, word((kBias + narrowBias) << kMantissaBits));
    Reg underflows = b.CreateICmpULE(exponent, word((kBias - narrowBias) << kMantissaBits));
    rounded = b.CreateSelect(overflows, b.CreateOr(negative, word(infinity)), rounded);
    rounded = b.CreateSelect(underflows, negative, rounded);
  }
  return b.CreateSelect(b.CreateFCmpUNO(value, value), value, b.CreateBitCast(rounded, value->getType()));
}

}  // namespace smalti::cpu
