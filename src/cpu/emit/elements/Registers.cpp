#include "cpu/emit/elements/Registers.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cpu/emit/elements/NarrowFloats.h"
#include "cpu/math/Nvidia.h"
#include "eval/Poison.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace smalti::cpu {

llvm::Type* storageType(llvm::LLVMContext& context, DType t) {
  if (t == DType::f32) return llvm::Type::getFloatTy(context);
  return llvm::IntegerType::get(context, static_cast<unsigned>(8 * storage_bytes(t)));
}

namespace {
bool isSubByteInteger(DType t) { return t == DType::i2 || t == DType::i4; }
}  // namespace

llvm::Type* registerType(llvm::LLVMContext& context, DType t, int lanes) {
  llvm::Type* element = t == DType::pred      ? llvm::Type::getInt1Ty(context)
                        : isRegisterFloat(t)  ? llvm::Type::getFloatTy(context)
                        : isSubByteInteger(t) ? llvm::Type::getIntNTy(context, static_cast<unsigned>(bit_width(t)))
                                              : storageType(context, t);
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

namespace {

llvm::Type* withLanes(llvm::Type* element, int lanes) {
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

}  // namespace

llvm::Type* like(Reg value, llvm::Type* element) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

Reg fromStorage(Builder& b, DType t, Reg stored) {
  switch (t) {
    case DType::pred:
      return b.CreateICmpNE(stored, llvm::Constant::getNullValue(stored->getType()));
    case DType::bf16: {
      Reg bits = b.CreateShl(b.CreateZExt(stored, like(stored, b.getInt32Ty())), 16);
      return b.CreateBitCast(bits, like(stored, b.getFloatTy()));
    }
    case DType::f16:
      return b.CreateFPExt(b.CreateBitCast(stored, like(stored, b.getHalfTy())), like(stored, b.getFloatTy()));
    default:
      if (isSmallFloat(t)) return decodeSmallFloat(b, t, stored);
      if (isSubByteInteger(t)) return b.CreateTrunc(stored, like(stored, registerType(b.getContext(), t, 1)));
      return stored;
  }
}

Reg toStorage(Builder& b, DType t, Reg value) {
  switch (t) {
    case DType::pred:
      return b.CreateZExt(value, like(value, b.getInt8Ty()));
    case DType::bf16: {
      Reg bits = b.CreateBitCast(value, like(value, b.getInt32Ty()));
      return b.CreateTrunc(b.CreateLShr(bits, 16), like(value, b.getInt16Ty()));
    }
    case DType::f16:
      return b.CreateBitCast(b.CreateFPTrunc(value, like(value, b.getHalfTy())), like(value, b.getInt16Ty()));
    default:
      if (isSmallFloat(t)) return encodeSmallFloat(b, t, value, false);
      if (isSubByteInteger(t)) return b.CreateSExt(value, like(value, b.getInt8Ty()));
      return value;
  }
}

Reg loadElements(Builder& b, DType t, Reg pointer, int lanes, Reg mask) {
  llvm::Type* type = withLanes(storageType(b.getContext(), t), lanes);
  const llvm::Align align(static_cast<uint64_t>(storage_bytes(t)));
  Reg stored = mask ? b.CreateMaskedLoad(type, pointer, align, mask, llvm::Constant::getNullValue(type))
                    : static_cast<Reg>(b.CreateAlignedLoad(type, pointer, align));
  return fromStorage(b, t, stored);
}

namespace {

/// The lanes that are alone in their group of eight among those that the mask activates; empty if it is not constant.
std::vector<unsigned> lonelyLanes(Reg mask) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  const auto* type = constant ? llvm::dyn_cast<llvm::FixedVectorType>(mask->getType()) : nullptr;
  std::vector<unsigned> lonely;
  for (unsigned first = 0; type && first < type->getNumElements(); first += 8) {
    std::vector<unsigned> active;
    for (unsigned lane = first; lane < std::min(first + 8, type->getNumElements()); ++lane)
      if (const auto* bit = constant->getAggregateElement(lane); bit && bit->isOneValue()) active.push_back(lane);
    if (active.size() == 1) lonely.push_back(active[0]);
  }
  return lonely;
}

/// A masked store. LLVM 22 makes a store of one lane of a truncated vector, also if it is what is left of a wider one
/// that it has split, a store of the lane as wide as it was before: with AVX-512, four bytes instead of one or two.
/// Such lanes are therefore stored one by one.
llvm::Instruction* storeActive(Builder& b, Reg stored, Reg pointer, llvm::Align align, Reg mask) {
  const std::vector<unsigned> lonely =
      stored->getType()->getScalarSizeInBits() < 32 ? lonelyLanes(mask) : std::vector<unsigned>();
  llvm::Instruction* last = nullptr;
  for (const unsigned lane : lonely) {
    Reg at = b.CreateConstInBoundsGEP1_64(stored->getType()->getScalarType(), pointer, lane);
    last = b.CreateAlignedStore(b.CreateExtractElement(stored, uint64_t{lane}), at, align);
    mask = b.CreateInsertElement(mask, b.getFalse(), uint64_t{lane});
  }
  return last && llvm::cast<llvm::Constant>(mask)->isNullValue() ? last
                                                                 : b.CreateMaskedStore(stored, pointer, align, mask);
}

}  // namespace

llvm::Instruction* storeElements(Builder& b, DType t, Reg value, Reg pointer, int lanes, Reg mask) {
  Reg stored = toStorage(b, t, value);
  const llvm::Align align(static_cast<uint64_t>(storage_bytes(t)));
  return mask ? storeActive(b, stored, pointer, align, mask) : b.CreateAlignedStore(stored, pointer, align);
}

Reg roundTo(Builder& b, DType t, Reg f32) {
  if (t == DType::f16) {
    Reg half = b.CreateFPTrunc(f32, like(f32, b.getHalfTy()));
    return b.CreateFPExt(half, f32->getType());
  }
  if (isSmallFloat(t)) return decodeSmallFloat(b, t, encodeSmallFloat(b, t, f32, true));
  if (t != DType::bf16) return f32;
  if (isForNvidia(b) && f32->getType()->isFloatTy())  // an instruction does it (PTX ISA, cvt.rn.bf16)
    return fromStorage(b, t,
                       b.CreateBitCast(b.CreateIntrinsic(llvm::Intrinsic::nvvm_f2bf16_rn, {}, {f32}), b.getInt16Ty()));
  llvm::Type* ints = like(f32, b.getInt32Ty());
  Reg bits = b.CreateBitCast(f32, ints);
  Reg lowest = b.CreateAnd(b.CreateLShr(bits, 16), llvm::ConstantInt::get(ints, 1));
  Reg up = b.CreateAdd(bits, b.CreateAdd(lowest, llvm::ConstantInt::get(ints, 0x7fff)));
  Reg rounded = b.CreateAnd(up, llvm::ConstantInt::get(ints, 0xffff0000u));
  // A NaN whose payload would round away, or carry into the sign, is made the quiet one of its sign.
  Reg quiet = b.CreateAnd(b.CreateOr(bits, llvm::ConstantInt::get(ints, 0x00400000u)),
                          llvm::ConstantInt::get(ints, 0xffff0000u));
  Reg isNan = b.CreateFCmpUNO(f32, f32);
  return b.CreateBitCast(b.CreateSelect(isNan, quiet, rounded), f32->getType());
}

Reg splat(Builder& b, Reg scalar, int lanes) {
  return lanes == 1 ? scalar : b.CreateVectorSplat(static_cast<unsigned>(lanes), scalar);
}

Reg constantElement(Builder& b, DType t, const void* bytes) {
  const int size = storage_bytes(t);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, static_cast<size_t>(size));
  if (t == DType::pred) return b.getInt1(bits != 0);
  llvm::Type* stored = storageType(b.getContext(), t);
  if (t == DType::f32) {
    return llvm::ConstantFP::get(b.getContext(), llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits)));
  }
  if (t == DType::bf16)
    return llvm::ConstantFP::get(b.getContext(),
                                 llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits << 16)));
  if (t == DType::f16) {
    llvm::APFloat value(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits));
    bool lost = false;
    value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return llvm::ConstantFP::get(b.getContext(), value);
  }
  // Folds: the builder's operands are constants.
  return fromStorage(b, t, llvm::ConstantInt::get(stored, bits));
}

Reg undefinedElement(Builder& b, DType t, eval::Poison poison) {
  uint64_t bits = 0;
  eval::poison(t, poison, reinterpret_cast<std::byte*>(&bits), 1);
  return constantElement(b, t, &bits);
}

}  // namespace smalti::cpu
