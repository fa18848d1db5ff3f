// The formulas are those of src/eval/elementwise/isa/Formats.h.
#include "cpu/emit/elements/NarrowFloats.h"

#include "cpu/emit/elements/Registers.h"

namespace smalti::cpu {
namespace {

/// What the codes above the largest finite value mean.
enum class Specials {
  ieee,     ///< largest exponent: infinity and NaNs
  nanOnly,  ///< one NaN of each sign, no infinity
  fnuz,     ///< -0's code is the only NaN, no infinity
  finite,   ///< neither: saturates; NaN becomes -0
};

struct Format {
  uint32_t exponentBits, mantissaBits;
  int bias;
  Specials specials;

  uint32_t sign() const { return 1u << (exponentBits + mantissaBits); }
  uint32_t magnitude() const { return sign() - 1; }
  uint32_t infinity() const { return ((1u << exponentBits) - 1) << mantissaBits; }
  uint32_t largest() const {
    return specials == Specials::ieee ? infinity() - 1 : magnitude() - (specials == Specials::nanOnly ? 1 : 0);
  }
  uint32_t shift() const { return 23 - mantissaBits; }
  uint32_t rebias() const { return static_cast<uint32_t>(127 - bias) << 23; }
  /// Bits of the f32 2^e.
  static uint32_t powerOfTwo(int e) { return static_cast<uint32_t>(e + 127) << 23; }
};

Format formatOf(DType t) {
  switch (t) {
    case DType::f8e5m2:
      return {5, 2, 15, Specials::ieee};
    case DType::f8e4m3fn:
      return {4, 3, 7, Specials::nanOnly};
    case DType::f8e4m3b11fnuz:
      return {4, 3, 11, Specials::fnuz};
    default:
      return {2, 1, 1, Specials::finite};
  }
}

llvm::Value* decodePowerOfTwo(llvm::IRBuilder<>& b, llvm::Value* codes) {
  llvm::Type* ints = like(codes, b.getInt32Ty());
  const auto number = [&](uint32_t v) { return llvm::ConstantInt::get(ints, v); };
  llvm::Value* w = b.CreateZExt(codes, ints);
  llvm::Value* u = b.CreateSelect(b.CreateICmpEQ(w, number(0)), number(0x00400000), b.CreateShl(w, 23));
  u = b.CreateSelect(b.CreateICmpEQ(w, number(0xff)), number(0x7fc00000), u);
  return b.CreateBitCast(u, like(codes, b.getFloatTy()));
}

llvm::Value* encodePowerOfTwo(llvm::IRBuilder<>& b, llvm::Value* f32) {
  llvm::Type* ints = like(f32, b.getInt32Ty());
  const auto number = [&](uint32_t v) { return llvm::ConstantInt::get(ints, v); };
  llvm::Value* u = b.CreateBitCast(f32, ints);
  llvm::Value* denormal = b.CreateZExt(b.CreateICmpUGE(u, number(0x00600000)), ints);
  llvm::Value* normal = b.CreateLShr(b.CreateAdd(u, number(0x00400000)), 23);
  llvm::Value* code = b.CreateSelect(b.CreateICmpULT(u, number(0x00800000)), denormal, normal);
  llvm::Value* isNan = b.CreateOr(b.CreateICmpEQ(u, number(0)), b.CreateICmpUGE(u, number(0x7f400000)));
  return b.CreateTrunc(b.CreateSelect(isNan, number(0xff), code), like(f32, b.getInt8Ty()));
}

}  // namespace

llvm::Value* decodeSmallFloat(llvm::IRBuilder<>& b, DType t, llvm::Value* codes) {
  if (t == DType::f8e8m0fnu) return decodePowerOfTwo(b, codes);
  const Format f = formatOf(t);
  llvm::Type *ints = like(codes, b.getInt32Ty()), *floats = like(codes, b.getFloatTy());
  const auto number = [&](uint32_t v) { return llvm::ConstantInt::get(ints, v); };
  llvm::Value* w = b.CreateZExt(codes, ints);
  llvm::Value* sign = b.CreateShl(b.CreateAnd(w, number(f.sign())), 31 - f.exponentBits - f.mantissaBits);
  llvm::Value* magnitude = b.CreateAnd(w, number(f.magnitude()));
  llvm::Value* step =
      b.CreateBitCast(number(Format::powerOfTwo(1 - f.bias - static_cast<int>(f.mantissaBits))), floats);
  llvm::Value* denormal = b.CreateBitCast(b.CreateFMul(b.CreateSIToFP(magnitude, floats), step), ints);
  llvm::Value* normal = b.CreateAdd(b.CreateShl(magnitude, f.shift()), number(f.rebias()));
  llvm::Value* u = b.CreateSelect(b.CreateICmpULT(magnitude, number(1u << f.mantissaBits)), denormal, normal);
  const auto where = [&](llvm::Value* condition, llvm::Value* value) { u = b.CreateSelect(condition, value, u); };
  if (f.specials == Specials::ieee)
    where(b.CreateICmpUGE(magnitude, number(f.infinity())),
          b.CreateOr(b.CreateShl(magnitude, f.shift()), number(0x7f800000)));
  if (f.specials == Specials::nanOnly) where(b.CreateICmpEQ(magnitude, number(f.magnitude())), number(0x7fc00000));
  if (f.specials == Specials::fnuz)
    where(b.CreateICmpEQ(b.CreateAnd(w, number(f.sign() | f.magnitude())), number(f.sign())), number(0x7fc00000));
  return b.CreateBitCast(b.CreateOr(u, sign), floats);
}

llvm::Value* encodeSmallFloat(llvm::IRBuilder<>& b, DType t, llvm::Value* f32, bool quiet) {
  if (t == DType::f8e8m0fnu) return encodePowerOfTwo(b, f32);
  const Format f = formatOf(t);
  llvm::Type *ints = like(f32, b.getInt32Ty()), *floats = f32->getType();
  const auto number = [&](uint32_t v) { return llvm::ConstantInt::get(ints, v); };
  llvm::Value* bits = b.CreateBitCast(f32, ints);
  llvm::Value* sign = b.CreateShl(b.CreateLShr(bits, 31), f.exponentBits + f.mantissaBits);
  llvm::Value* u = b.CreateAnd(bits, number(0x7fffffff));
  llvm::Value* rounding =
      b.CreateAdd(b.CreateAnd(b.CreateLShr(u, f.shift()), number(1)), number((1u << (f.shift() - 1)) - 1));
  llvm::Value* normal = b.CreateLShr(b.CreateAdd(b.CreateSub(u, number(f.rebias())), rounding), f.shift());
  // Adding a number whose last place is the smallest denormal lets the hardware round.
  llvm::Value* aligner = number(Format::powerOfTwo(24 - f.bias - static_cast<int>(f.mantissaBits)));
  llvm::Value* moved = b.CreateFAdd(b.CreateBitCast(u, floats), b.CreateBitCast(aligner, floats));
  llvm::Value* denormal = b.CreateSub(b.CreateBitCast(moved, ints), aligner);
  llvm::Value* isSmall = b.CreateICmpULT(u, number(static_cast<uint32_t>(128 - f.bias) << 23));
  llvm::Value* code = b.CreateSelect(isSmall, denormal, normal);
  llvm::Value* isNan = b.CreateICmpUGT(u, number(0x7f800000));
  llvm::Value* tooLarge = b.CreateICmpUGT(code, number(f.largest()));
  llvm::Value* result = nullptr;
  switch (f.specials) {
    case Specials::ieee: {
      llvm::Value* nan = b.CreateOr(b.CreateAnd(b.CreateLShr(u, f.shift()), number((1u << f.mantissaBits) - 1)),
                                    number(f.infinity() | (quiet ? 1u << (f.mantissaBits - 1) : 0)));
      code = b.CreateSelect(isNan, nan, b.CreateSelect(tooLarge, number(f.infinity()), code));
      result = b.CreateOr(code, sign);
      break;
    }
    case Specials::nanOnly:
      result = b.CreateOr(b.CreateSelect(tooLarge, number(f.magnitude()), code), sign);
      break;
    case Specials::fnuz:
      result = b.CreateSelect(b.CreateICmpEQ(code, number(0)), number(0), b.CreateOr(code, sign));
      result = b.CreateSelect(tooLarge, number(f.sign()), result);
      break;
    case Specials::finite:
      result = b.CreateOr(b.CreateSelect(tooLarge, number(f.largest()), code), sign);
      result = b.CreateSelect(isNan, number(f.sign()), result);
      break;
  }
  return b.CreateTrunc(result, like(f32, b.getInt8Ty()));
}

}  // namespace smalti::cpu
