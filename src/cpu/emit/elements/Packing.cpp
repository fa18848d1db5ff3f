#include "cpu/emit/elements/Packing.h"

#include <optional>

#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "llvm/IR/Intrinsics.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti::cpu {
namespace {

llvm::Type* bitsLike(Reg value, int bits) {
  return like(value, llvm::Type::getIntNTy(value->getContext(), static_cast<unsigned>(bits)));
}

std::optional<DType> typeAttribute(mlir::Operation& op, llvm::StringRef name) {
  auto type = op.getAttrOfType<mlir::TypeAttr>(name);
  return type ? dtypeOf(type.getValue()) : std::nullopt;
}

struct Precision {
  int mantissaBits, minExponent;  ///< of the smallest normal number
};
std::optional<Precision> precisionOf(DType t) {
  switch (t) {
    case DType::bf16:
      return Precision{7, -126};
    case DType::f16:
      return Precision{10, -14};
    case DType::f8e5m2:
      return Precision{2, -14};
    case DType::f8e4m3fn:
      return Precision{3, -6};
    case DType::f8e4m3b11fnuz:
      return Precision{3, -10};
    case DType::f4e2m1fn:
      return Precision{1, 0};
    default:
      return std::nullopt;
  }
}

}  // namespace

Reg packElements(const ElementOp& e) {
  const auto target = typeAttribute(e.op, "target_type");
  const int width = bit_width(*target), outWidth = bit_width(e.out);
  Reg word = nullptr;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    Reg bits = e.operands[i];
    if (is_float(*target)) bits = toStorage(e.b, *target, roundTo(e.b, *target, bits));
    // Bits beyond the element's width are cut off: an f32's integer first.
    if (bits->getType()->isFPOrFPVectorTy()) bits = e.b.CreateBitCast(bits, bitsLike(bits, 32));
    bits = e.b.CreateZExtOrTrunc(e.b.CreateZExtOrTrunc(bits, bitsLike(bits, width)), bitsLike(bits, outWidth));
    bits = e.b.CreateShl(bits, static_cast<uint64_t>(i) * static_cast<uint64_t>(width));
    word = word ? e.b.CreateOr(word, bits) : bits;
  }
  return word;
}

Reg unpackElements(const ElementOp& e) {
  const auto source = typeAttribute(e.op, "source_type");
  const auto index = integerAttribute(e.op, "index", 0);
  const int width = bit_width(*source);
  Reg part = e.b.CreateLShr(e.operands[0], static_cast<uint64_t>(index) * static_cast<uint64_t>(width));
  part = e.b.CreateTrunc(part, bitsLike(part, width));
  if (!is_float(*source)) {
    llvm::Type* out = like(part, registerType(e.b.getContext(), e.out, 1));
    return is_signed_integer(*source) ? e.b.CreateSExtOrTrunc(part, out) : e.b.CreateZExtOrTrunc(part, out);
  }
  part = e.b.CreateZExt(part, bitsLike(part, 8 * storage_bytes(*source)));
  if (*source == DType::f32) part = e.b.CreateBitCast(part, like(part, e.b.getFloatTy()));
  return roundTo(e.b, e.out, fromStorage(e.b, *source, part));
}

/// As src/eval/bits/Stochastic.cpp: random bits are added below the kept significand, then the sum is truncated.
Reg convertStochastically(const ElementOp& e) {
  const auto precision = precisionOf(e.out);
  Builder& b = e.b;
  Reg x = e.operands[0], random = e.operands[1];
  llvm::Type *ints = bitsLike(x, 32), *wide = bitsLike(x, 64), *doubles = like(x, b.getDoubleTy());
  const auto number = [&](int64_t v) { return llvm::ConstantInt::getSigned(ints, v); };
  const auto big = [&](int64_t v) { return llvm::ConstantInt::getSigned(wide, v); };
  Reg raw = b.CreateBitCast(x, ints);
  Reg biased = b.CreateAnd(b.CreateLShr(raw, 23), number(0xff));
  Reg isSmall = b.CreateICmpEQ(biased, number(0));
  Reg exponent = b.CreateSub(b.CreateSelect(isSmall, number(1), biased), number(127));
  Reg significand =
      b.CreateOr(b.CreateAnd(raw, number(0x7fffff)), b.CreateSelect(isSmall, number(0), number(0x800000)));
  Reg below =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateSub(number(precision->minExponent), exponent), number(0));
  Reg dropped = b.CreateAdd(number(23 - precision->mantissaBits), below);
  Reg vanishes = b.CreateICmpUGT(dropped, number(56));  // less than 2^-32 of the smallest step
  Reg count = b.CreateZExt(b.CreateSelect(vanishes, number(56), dropped), wide);
  Reg ones = b.CreateSub(b.CreateShl(big(1), count), big(1));
  Reg many = b.CreateICmpUGT(count, big(32));
  Reg wideRandom = b.CreateZExt(random, wide);
  Reg added = b.CreateSelect(many, b.CreateShl(wideRandom, b.CreateSelect(many, b.CreateSub(count, big(32)), big(0))),
                             b.CreateAnd(wideRandom, ones));
  Reg kept = b.CreateLShr(b.CreateAdd(b.CreateZExt(significand, wide), added), count);
  // kept · 2^(exponent - 23 + dropped), exact in f64.
  Reg power = b.CreateAdd(b.CreateSExt(b.CreateSub(exponent, number(23)), wide), count);
  Reg scale = b.CreateBitCast(b.CreateShl(b.CreateAdd(power, big(1023)), 52), doubles);
  Reg size = b.CreateFPTrunc(b.CreateFMul(b.CreateUIToFP(kept, doubles), scale), x->getType());
  Reg zero = llvm::ConstantFP::get(x->getType(), 0.0);
  Reg rounded = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, b.CreateSelect(vanishes, zero, size), x);
  Reg unchanged = b.CreateICmpEQ(biased, number(0xff));  // infinite or NaN; the code above handles 0
  return roundTo(b, e.out, b.CreateSelect(unchanged, x, rounded));
}

}  // namespace smalti::cpu
